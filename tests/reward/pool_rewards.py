"""Rewards that misbehave on demand: the completion says how."""

import os
import signal
import subprocess
import sys
import time

from winnow.rollout import Verdict

HOUR = 3600


def hang():
    time.sleep(HOUR)


def spin():
    while True:
        pass


def catch_all():
    while True:
        try:
            time.sleep(HOUR)
        except BaseException:
            continue


def ignore_signals():
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    time.sleep(HOUR)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def allocate():
    held = []
    while True:
        held.append(bytearray(1 << 20))


def allocate_at_once():
    return bytearray(1 << 40)


def leave():
    os._exit(3)


def leave_well():
    os._exit(0)


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def kill_parent():
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(HOUR)


def close_files():
    os.closerange(3, 1024)
    time.sleep(HOUR)


def fork():
    if os.fork() == 0:
        time.sleep(HOUR)


def fork_and_return():
    os.fork()


def fork_twice():
    if os.fork() == 0:
        if os.fork() == 0:
            os.setsid()
            time.sleep(HOUR)
        os._exit(0)


def fork_twice_and_tell(path):
    """Leave a process without a parent behind and write down which."""
    if os.fork() == 0:
        child = os.fork()
        if child == 0:
            os.setsid()
            time.sleep(HOUR)
        with open(path, "w") as file:
            file.write(str(child))
        os._exit(0)
    os.wait()


def start_program():
    subprocess.Popen([sys.executable, "-c", f"import time; time.sleep({HOUR})"], start_new_session=True)


def fork_and_hang():
    fork_twice()
    fork()
    time.sleep(HOUR)


def shout():
    for _ in range(100):
        os.write(1, b"x" * 100_000)
        os.write(2, b"x" * 100_000)
    print("shouted")


def fail():
    raise ValueError("no")


def quit():
    sys.exit(0)


def misbehave(completion):
    """Do what the completion names before the colon, and score what stands after it."""
    what, _, score = completion.rpartition(":")
    if what:
        globals()[what]()
    return float(score)


def sized(completion):
    kind, _, size = completion.partition(":")
    text = "x" * int(size)
    if kind == "reason":
        return Verdict(1.0, None, text)
    if kind == "parts":
        return Verdict(1.0, None, "", {text: 1.0})
    raise ValueError(text)


def sleep(completion):
    time.sleep(float(completion))
    return float(completion)


def begun(completion):
    """When it began, by the clock of the machine."""
    now = time.monotonic()
    time.sleep(float(completion))
    return now


def helper(completion):
    if completion == "leave":
        leave()
    if completion:
        fork_twice_and_tell(completion)
    return 1.0


def silent(completion):
    nowhere = os.stat(os.devnull).st_rdev
    return float(all(os.fstat(descriptor).st_rdev == nowhere for descriptor in range(3)))


def process(completion):
    return float(os.getpid())


def one_for_all(completions):
    return [1.0]


def alone(completions):
    """Misbehaves on more than one completion, as the first of them says."""
    if len(completions) > 1:
        globals().get(completions[0], leave)()
    return [1.0] * len(completions)


def relative(completions):
    """A function of the batch, which a pool cannot serve."""
    return [float(rank) for rank, _ in enumerate(completions)]


def exact(completions, answer, **columns):
    return [float(c == a) for c, a in zip(completions, answer, strict=True)]


def given(completions, answer):
    return [float(c == a) for c, a in zip(completions, answer, strict=True)]


def levelled(completion, level):
    return {"score": 0.0 if level is None else float(level), "had_level": level is not None}


async def awaited(completion):
    return float(completion)


VALUES = {
    "third": 1 / 3,
    "minus zero": -0.0,
    "tiny": 5e-324,
    "sum": 0.1 + 0.2,
    "large": 1e150,
    "none": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "text": "1.0",
    "verdict": Verdict(0.1, 1 / 3, "because \ud800 \N{SNOWMAN} \0", {"a": 0.3, "b": None, "c": -0.0}),
}


def value(completion):
    return VALUES[completion]


def order(completion):
    """Depends on the order of a set of words, and so on the seed of hashes."""
    return float("".join(str(len(word)) for word in {"a", "bb", "ccc", "dddd", "eeeee", "ffffff"}))


def folder(completion):
    return float(os.getcwd() == completion)


class Judge:
    """A reward of its own."""

    name = "judge"
    on_timeout = "zero"

    def __init__(self, right="yes"):
        self.right = right

    def warm_up(self):
        self.warm_in = os.getpid()

    def __call__(self, completion):
        return float(completion == self.right)

    def score(self, items):
        if items[0].completion == "raise":
            raise KeyError("outside of any guard")
        if items[0].completion == "nothing":
            return []
        if items[0].completion == "warm":
            return [Verdict(float(self.warm_in == os.getppid()))]
        if items[0].completion == "hang":
            hang()
        return [Verdict(float(item.completion == self.right)) for item in items]
