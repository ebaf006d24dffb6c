"""The launcher: its life, its death, and who may use it."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.reward.code.processes import children, gone_within, launcher

from winnow.reward.code import Case, Tests, isolation, sandbox, verify

pytestmark = pytest.mark.usefixtures("isolated", "no_leftovers")

ADD = Tests([Case(args=[1, 2], expected=3)], function="add")
RIGHT = "def add(a, b): return a + b"


def test_all_layers_hold():
    found = isolation()
    assert found.available
    assert found.missing == ()
    assert len(found.layers) == 9
    assert "seccomp" in found.describe()


def test_programs_run_side_by_side():
    sleeper = "import time\ndef add(a, b):\n  time.sleep(0.5)\n  return a + b"
    launcher()
    began = time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        verdicts = list(pool.map(lambda _: verify(sleeper, ADD), range(6)))
    assert [verdict.outcome for verdict in verdicts] == [1.0] * 6
    assert time.monotonic() - began < 1.9


def test_a_hanging_program_does_not_delay_others():
    thread = threading.Thread(target=verify, args=("while True: pass", ADD), kwargs={"timeout": 1.5})
    thread.start()
    began = time.monotonic()
    assert verify(RIGHT, ADD).outcome == 1.0
    assert time.monotonic() - began < 1.0
    thread.join()


def test_another_thread_and_a_running_event_loop():
    async def main():
        return verify(RIGHT, ADD), await asyncio.to_thread(verify, RIGHT, ADD)

    assert [verdict.outcome for verdict in asyncio.run(main())] == [1.0, 1.0]


def test_launcher_outlives_the_thread_that_started_it():
    sandbox.close()
    thread = threading.Thread(target=verify, args=(RIGHT, ADD))
    thread.start()
    thread.join()
    before = launcher()
    time.sleep(0.05)
    assert verify(RIGHT, ADD).outcome == 1.0
    assert launcher() == before


def test_a_killed_launcher_is_replaced():
    os.kill(launcher(), signal.SIGKILL)
    assert verify(RIGHT, ADD).outcome == 1.0


def _in_child(queue):
    verdict = verify(RIGHT, ADD)
    queue.put((verdict.outcome, launcher(), os.getpid()))


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_worker_processes_start_their_own(method):
    ours = launcher()
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    worker = context.Process(target=_in_child, args=(queue,))
    worker.start()
    outcome, theirs, pid = queue.get(timeout=30)
    worker.join()
    assert outcome == 1.0
    assert theirs != ours
    assert gone_within([theirs, pid], 3.0)
    assert verify(RIGHT, ADD).outcome == 1.0
    assert launcher() == ours


HOLDER = """
import os, sys, threading, time
from tests.reward.code.processes import children, launcher
from winnow.reward.code import Case, Tests, isolation, verify
isolation()
forever = "import os, time\\nif os.fork() == 0: os.setsid()\\ntime.sleep(600)"
tests = Tests([Case(args=[1, 2], expected=3)], function="add")
threading.Thread(target=verify, args=(forever, tests), kwargs={"timeout": 500.0}, daemon=True).start()
while len(children(launcher())) < 2:
    time.sleep(0.01)
if sys.argv[1] == "forked":
    child = os.fork()
    if child == 0:
        os.close(1)
        time.sleep(8)
        os._exit(0)
print(launcher(), flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("mode", [pytest.param("alone", marks=pytest.mark.slow), "forked"])
def test_nothing_outlives_a_killed_parent(mode):
    # In the second mode a child of the parent keeps copies of all its sockets open.
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, mode], stdout=subprocess.PIPE, text=True)
    pid = int(holder.stdout.readline())
    programs = children(pid)
    assert len(programs) == 2
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert gone_within([pid, *programs], 4.0)


def test_time_counts_from_the_start_of_the_program():
    sandbox.close()
    assert verify("def add(a, b): return a + b", ADD, timeout=0.3).reason == ""


def test_many_programs_leave_nothing_behind():
    descriptors = len(os.listdir("/proc/self/fd"))
    theirs = len(os.listdir(f"/proc/{launcher()}/fd"))
    for program in (RIGHT, "import os\nos._exit(0)", "x = [0] * 10**9", "print(" * 5):
        for _ in range(5):
            verify(program, ADD)
    # The verdict does not wait until the last program is cleared away.
    until = time.monotonic() + 5
    while len(os.listdir(f"/proc/{launcher()}/fd")) > theirs and time.monotonic() < until:
        time.sleep(0.02)
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert len(os.listdir(f"/proc/{launcher()}/fd")) == theirs


def test_launcher_never_holds_what_later_candidates_could_find():
    """Every candidate starts as a copy of the launcher's memory, so no other's program or result may be in it."""
    marker = f"marker-{os.urandom(8).hex()}"
    tests = Tests([Case(args=[marker], expected=marker * 2)], function="f")
    assert verify(f"def f(x): return x + '{marker}'", tests).outcome == 1.0
    assert verify(f"print('{marker}')", Tests([Case(stdin=marker, stdout=marker)])).outcome == 1.0
    try:
        found = in_memory(launcher(), marker.encode())
    except PermissionError:
        pytest.skip("the memory of the launcher cannot be read by this user")
    assert found == []
    assert in_memory(os.getpid(), marker.encode())


def in_memory(pid: int, text: bytes) -> list[str]:
    found = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights, *_ = line.split()
            low, high = (int(end, 16) for end in span.split("-"))
            if not rights.startswith("rw"):
                continue
            memory.seek(low)
            if text in memory.read(high - low):
                found.append(line)
    return found


def test_the_kernel_would_end_candidates_first():
    thread = threading.Thread(target=verify, args=("import time; time.sleep(600)", ADD), kwargs={"timeout": 0.6})
    thread.start()
    scores = set()
    while thread.is_alive():
        for pid in children(launcher()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                scores.add(int(Path(f"/proc/{pid}/oom_score_adj").read_text()))
        time.sleep(0.02)
    thread.join()
    assert 1000 in scores
    assert int(Path(f"/proc/{launcher()}/oom_score_adj").read_text()) < 1000
