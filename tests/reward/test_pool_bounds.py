"""What a pool does about rewards that hang, crash, allocate, fork, shout or take processes down with them."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from tests.reward.pool_rewards import Judge
from tests.reward.pool_tools import eventually, items, marked, named, scores

from winnow.errors import RewardError
from winnow.reward import Combined, Item
from winnow.reward.pool import Pool, launch
from winnow.rollout import Prompt

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def mark(monkeypatch):
    """What marks the processes of this test."""
    monkeypatch.setenv("WINNOW_TEST", f"{os.getpid()}-{time.monotonic_ns()}")
    return f"WINNOW_TEST={os.environ['WINNOW_TEST']}"


@pytest.fixture(scope="module")
def pool():
    with Pool(named("misbehave"), timeout=0.5, memory_mb=64, max_error_rate=1.0) as shared:
        yield shared


@pytest.mark.parametrize(
    "what", ["hang", "spin", "catch_all", "ignore_signals", "stop", "fork_and_hang", "close_files"]
)
def test_b21_whatever_hangs_is_ended_and_costs_one_verdict(pool, what, caplog):
    before = pool.metrics()["reward_timeouts"]
    verdicts = pool.score(items("1", f"{what}:2", "3", "4"))
    assert scores(verdicts) == [1.0, None, 3.0, 4.0]
    if what == "close_files":
        assert verdicts[1].reason.startswith("crash: ")
        return
    assert verdicts[1].reason == "timeout: no verdict within 0.5 s"
    assert pool.metrics()["reward_timeouts"] == before + 1
    assert "misbehave, prompt train:3, rollout 0/1: timeout" in caplog.text


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("leave", "crash: the worker process exited with status 3"),
        ("leave_well", "crash: the worker process exited with status 0"),
        ("kill_self", "crash: the worker process was ended by SIGKILL"),
        ("crash", "crash: the worker process was ended by SIGSEGV"),
        ("allocate", "memory: more than memory_mb = 64 was needed"),
        ("allocate_at_once", "memory: more than memory_mb = 64 was needed"),
    ],
)
def test_a_lost_worker_costs_one_verdict_with_the_reason(pool, what, reason):
    verdicts = pool.score(items("1", f"{what}:2", "3", f"{what}:4", "5"))
    assert scores(verdicts) == [1.0, None, 3.0, None, 5.0]
    assert verdicts[1].reason == verdicts[3].reason == reason


@pytest.mark.parametrize("what", ["fork", "fork_and_return", "fork_twice", "start_program", "shout"])
def test_what_is_left_behind_or_printed_disturbs_nothing(pool, what, capfd):
    assert scores(pool.score(items("1", f"{what}:2", "3", f"{what}:4"))) == [1.0, 2.0, 3.0, 4.0]
    assert capfd.readouterr() == ("", "")


def test_a_pair_that_hangs_or_crashes_costs_no_verdict():
    with Pool(named("alone"), workers=1, timeout=0.4) as pool:
        for completions in (["hang", "hang", "a"], ["leave", "leave", "a"], ["a", "hang"]):
            pool._compared = False
            assert scores(pool.score(items(*completions))) == [1.0] * len(completions)
        assert not any(pool.metrics().values())


def test_a_pair_is_compared_when_only_some_items_can_be_judged():
    with Pool(named("misbehave"), workers=1, timeout=0.4, max_error_rate=1.0) as pool:
        for completions in (["1", "hang:2", "3"], ["leave:1", "2"], ["fail:1", "allocate_at_once:2", "3", "4"], ["1"]):
            pool._compared = False
            expected = [None if ":" in text else float(text) for text in completions]
            assert scores(pool.score(items(*completions))) == expected


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_workers_are_silent(start):
    with Pool(named("silent"), workers=1, start=start) as pool:
        assert scores(pool.score(items("a"))) == [1.0]


def test_rwd06_waiting_in_line_costs_nothing():
    with Pool(named("sleep"), workers=1, timeout=0.5) as pool:
        assert scores(pool.score(items(*["0.1"] * 8))) == [0.1] * 8
        assert pool.metrics()["reward_timeouts"] == 0


def test_rwd07_a_hang_of_every_worker_does_not_stop_the_batch():
    with Pool(named("misbehave"), workers=3, timeout=0.4) as pool:
        verdicts = pool.score(items(*["hang:1"] * 9, "2", "3"))
        assert scores(verdicts) == [None] * 9 + [2.0, 3.0]
        assert pool.metrics()["reward_timeouts"] == 9


def test_what_waits_behind_a_slow_item_is_given_to_others():
    with Pool(named("begun"), workers=2, timeout=30.0) as pool:
        # Once the pool has learnt that items are short, slow ones come with others that they would hold up.
        pool.score(items(*["0.001"] * 100))
        slow, *others = scores(pool.score(items("3", *["0.001"] * 40)))
    assert max(others) < slow + 3


@pytest.mark.slow
@pytest.mark.parametrize("case", ["RWD-05"], indirect=True)
def test_an_algebra_system_that_never_ends_is_ended_off_the_main_thread(case, tmp_path):
    pytest.importorskip("math_verify")
    (tmp_path / "endless.py").write_text(
        textwrap.dedent("""
        from math_verify import parse, verify

        def endless(completion, answer):
            gold, given = (parse(text, parsing_timeout=None) for text in (answer, completion))
            return float(verify(gold, given, timeout_seconds=None))
        """)
    )
    given, expected = case["input"], case["expected"]
    prompt = Prompt("train:3", "q", given["gold"])
    batch = [Item(prompt, given["completion"]), Item(prompt, r"\boxed{8}")]
    found = []
    with Pool(f"{tmp_path}/endless.py:endless", timeout=given["timeout_s"], on_timeout="zero") as pool:
        begun = time.monotonic()
        thread = threading.Thread(target=lambda: found.extend(pool.score(batch)))
        thread.start()
        thread.join()
        assert time.monotonic() - begun < expected["returns_within_s"]
        assert found[0].score == expected["reward"] and found[0].reason.startswith(expected["status"])
        assert found[1].score == 1.0
        assert scores(pool.score(batch[1:])) == [1.0]


@pytest.mark.parametrize(("policy", "expected"), [("unscorable", (None, None)), ("zero", (0.0, 0.0))])
def test_policies_for_killed_items(policy, expected):
    with Pool(named("misbehave"), timeout=0.3, on_timeout=policy) as pool:
        for verdict in pool.score(items("hang:1", "leave:1", "allocate_at_once:1")):
            assert (verdict.score, verdict.outcome) == expected and verdict.reason


def test_the_policy_raise_names_item_and_reason_and_leaves_the_pool_usable():
    with Pool(named("misbehave"), timeout=0.3, on_timeout="raise") as pool:
        with pytest.raises(RewardError, match=r"misbehave on prompt train:3, rollout 0/1: timeout: no verdict within"):
            pool.score(items("1", "hang:1"))
        assert scores(pool.score(items("1", "2"))) == [1.0, 2.0]


def test_a_reward_may_say_what_a_killed_item_is_worth():
    assert Pool(Judge()).on_timeout == "zero"
    assert Pool(Judge(), on_timeout="unscorable").on_timeout == "unscorable"


def test_crashes_everywhere_stop_the_run_and_timeouts_do_not():
    with Pool(named("misbehave"), timeout=0.1, workers=4) as pool:
        assert scores(pool.score(items(*["hang:1"] * 12))) == [None] * 12
        with pytest.raises(RewardError, match=r"8 of the latest 8.*max_error_rate = 0.5(.|\n)*exited with status 3"):
            pool.score(items(*["leave:1"] * 8))
        assert pool.metrics() == {
            "reward_timeouts": 12.0,
            "reward_crashes": 8.0,
            "reward_errors": 0.0,
            "reward_memory": 0.0,
            "reward_output": 0.0,
        }


def test_sizes_of_what_comes_back_are_bounded():
    with Pool(named("sized"), max_output=1000) as pool:
        short, reason, parts, failure = pool.score(
            items("reason:9", "reason:100000000", "parts:100000", "other:1000000")
        )
        assert short.reason == "x" * 9
        assert reason.score == 1.0 and reason.reason == "x" * 1000 + "... (cut at max_output = 1000)"
        assert parts.score is None and parts.reason.startswith("output limit: the parts of the verdict take 100")
        assert failure.score is None and "x" * 900 in failure.reason and len(failure.reason) < 1100
        assert pool.metrics()["reward_output"] == 1


def test_exceptions_of_rewards_without_a_policy_are_unscorable_and_counted(caplog):
    caplog.set_level(logging.WARNING)
    with Pool(Combined([Judge()])) as pool:
        verdicts = pool.score(items("yes", "raise", "no"))
        assert scores(verdicts) == [1.0, None, 0.0]
        assert "KeyError: 'outside of any guard'" in verdicts[1].reason
        assert pool.metrics()["reward_errors"] == 1
        assert "KeyError" in caplog.text and "rollout 0/1" in caplog.text


def test_a_reward_warms_up_once_and_must_return_one_verdict():
    with Pool(Judge(), start="fork") as pool:
        assert scores(pool.score(items("warm", "warm"))) == [1.0, 1.0]
        with pytest.raises(RewardError, match=r"judge, prompt train:3.*a list of one Verdict"):
            pool.score(items("nothing"))


@linux
def test_nothing_is_left_when_the_pool_closes(mark):
    with Pool(named("misbehave"), timeout=0.3) as pool:
        pool.score(items("fork:1", "fork_twice:2", "start_program:3", "fork_and_hang:4", "5"))
        assert marked(mark)
    assert not marked(mark)


@linux
def test_what_a_killed_worker_left_is_ended_while_the_pool_lives(mark):
    with Pool(named("misbehave"), timeout=0.3, workers=1) as pool:
        pool.score(items("1"))
        calm = len(marked(mark))
        pool.score(items("fork_and_hang:1", "2"))
        assert eventually(lambda: len(marked(mark)) == calm)


@linux
def test_a_fork_that_returns_from_the_reward_goes_no_further(mark):
    with Pool(named("misbehave"), workers=1) as pool:
        pool.score(items("1"))
        calm = len(marked(mark))
        assert scores(pool.score(items("fork_and_return:1", "fork_and_return:2"))) == [1.0, 2.0]
        assert eventually(lambda: len(marked(mark)) == calm)


@linux
def test_what_a_living_worker_started_stays_when_another_worker_dies(tmp_path):
    file = tmp_path / "pid"
    with Pool(named("helper"), workers=2) as pool:
        pool.score(items("", ""))
        # Of two items, the first worker gets the first.
        assert scores(pool.score(items(str(file), ""))) == [1.0, 1.0]
        for _ in range(3):
            assert scores(pool.score(items("", "leave"))) == [1.0, None]
        assert Path(f"/proc/{file.read_text()}").exists()
    assert not Path(f"/proc/{file.read_text()}").exists()


@linux
def test_a_server_that_loading_started_lives_as_long_as_the_pool(mark, tmp_path):
    (tmp_path / "served.py").write_text(
        "import os, subprocess, sys\n"
        "if 'winnow.reward.pool.worker' in sys.modules and 'pytest' not in sys.modules:\n"
        "    server = subprocess.Popen(['sleep', '3600'])\n"
        "def f(completion):\n"
        "    if completion == 'leave':\n"
        "        os._exit(3)\n"
        "    with open(f'/proc/{server.pid}/stat') as file:\n"
        "        return float(file.read().split()[2] == 'S')\n"
    )
    with Pool(f"{tmp_path}/served.py:f", workers=1, start="fork") as pool:
        for _ in range(3):
            assert scores(pool.score(items("leave", "a"))) == [None, 1.0]
    assert not marked(mark)


@linux
def test_a_pool_that_is_dropped_ends_its_processes(mark):
    pool = Pool(named("misbehave"))
    pool.score(items("1"))
    assert marked(mark)
    del pool
    assert eventually(lambda: not marked(mark))


SCRIPT = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from tests.reward.pool_tools import items, named
from winnow.reward.pool import Pool
pool = Pool(named("misbehave"), timeout=60, start={start!r})
pool.score(items("fork:1", "fork_twice:1"))
{then}
"""
HANG = """
if os.fork() == 0:
    time.sleep(3)
    os._exit(0)
print("ready", flush=True)
pool.score(items("hang:1", "hang:2"))
"""


def script(start, then):
    root = str(Path(__file__).parents[2])
    return [sys.executable, "-c", SCRIPT.format(root=root, start=start, then=then)]


@linux
@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_process_that_is_killed_takes_its_pool_along(mark, start):
    process = subprocess.Popen(script(start, HANG), stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.2)
    process.kill()
    process.wait()
    process.stdout.close()
    # The forked copy of the process sleeps on with a copy of every connection.
    assert eventually(lambda: len(marked(mark)) <= 1, 2.5)
    assert eventually(lambda: not marked(mark))


@linux
def test_a_process_that_ends_without_closing_leaves_nothing(mark):
    done = subprocess.run(script("fork", ""), capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not marked(mark)


def test_a_lost_nursery_is_replaced_and_its_killer_found(mark):
    with Pool(named("misbehave"), timeout=5, workers=2) as pool:
        verdicts = pool.score(items("1", "kill_parent:1", "2", "3"))
        assert scores(verdicts) == [1.0, None, 2.0, 3.0]
        assert verdicts[1].reason == "crash: the process that makes workers was killed"
        assert scores(pool.score(items("1"))) == [1.0]


@pytest.mark.parametrize(
    ("start", "statement", "message"),
    [
        ("fork", "raise ValueError('not here')", r"cannot be loaded in a worker process.*raised ValueError: not here"),
        ("fork", "import os; os._exit(7)", r"ended it with exit code 7"),
        ("fork", "import os; os.write(2, b'help\\n'); os.abort()", r"exit code -6; its last words:\nhelp"),
        ("spawn", "raise ValueError('not here')", r"cannot be loaded in a worker process.*raised ValueError: not here"),
        pytest.param(
            "spawn",
            "import os; os._exit(7)",
            r"3 of them ended in a row without a verdict.*exited with status 7",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_reward_that_no_worker_can_load(tmp_path, start, statement, message):
    source = (
        f"import sys\nif 'winnow.reward.pool.worker' in sys.modules:\n    {statement}\ndef f(completion): return 1.0\n"
    )
    (tmp_path / "elsewhere.py").write_text(source)
    worker = sys.modules.pop("winnow.reward.pool.worker", None)
    pool = Pool(f"{tmp_path}/elsewhere.py:f", start=start)
    if worker is not None:
        sys.modules["winnow.reward.pool.worker"] = worker
    with pytest.raises(RewardError, match=message):
        pool.score(items("a", "b"))
    pool.close()


@pytest.fixture
def endless(tmp_path):
    """A reward that loads here and never in a worker."""
    (tmp_path / "endless.py").write_text(
        "import sys, time\nif 'winnow.reward.pool.worker' in sys.modules:\n    time.sleep(3600)\n"
        "def f(completion): ...\n"
    )
    worker = sys.modules.pop("winnow.reward.pool.worker", None)
    yield Pool(f"{tmp_path}/endless.py:f")
    if worker is not None:
        sys.modules["winnow.reward.pool.worker"] = worker


@linux
def test_loading_that_hangs_is_ended(endless, monkeypatch, mark):
    monkeypatch.setattr(launch, "LOADING_S", 0.3)
    with pytest.raises(RewardError, match=r"took more than 0.3 s"):
        endless.score(items("a"))
    assert not marked(mark)


@linux
def test_loading_can_be_interrupted(endless, mark):
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        endless.score(items("a"))
    assert not marked(mark)


@pytest.mark.slow
def test_a_reward_with_threads_is_not_forked(tmp_path):
    (tmp_path / "threads.py").write_text(
        "import os, threading, time\n"
        "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n"
        "def f(completion): return float(threading.active_count())\n"
    )
    with Pool(f"{tmp_path}/threads.py:f", workers=1) as pool:
        # A fork would have the calling thread only.
        assert scores(pool.score(items("a"))) == [2.0]


def test_without_a_nursery(monkeypatch, mark):
    monkeypatch.setattr(launch, "NurseryLauncher", launch.DirectLauncher)
    with Pool(named("misbehave"), timeout=0.5, memory_mb=64) as pool:
        verdicts = pool.score(items("1", "hang:2", "leave:3", "allocate:4", "fail:5", "6"))
        assert scores(verdicts) == [1.0, None, None, None, None, 6.0]
        assert [v.reason.partition(":")[0] for v in verdicts[1:4]] == ["timeout", "crash", "memory"]
    if sys.platform == "linux":
        assert not marked(mark)
