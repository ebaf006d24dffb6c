"""The pool says the same to whoever calls it, and takes whatever function it can."""

import asyncio
import functools
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.reward import pool_rewards
from tests.reward.pool_tools import FILE, eventually, items, marked, named, scores

from winnow.errors import ConfigError
from winnow.reward.pool import Pool
from winnow.reward.pool.sending import as_reward, packed

BATCH = ["1", "hang:2", "3", "leave:4", "fail:5", "6"]
EXPECTED = [1.0, None, 3.0, None, None, 6.0]


def judged(start="auto"):
    with Pool(named("misbehave"), timeout=0.5, start=start) as pool:
        return scores(pool.score(items(*BATCH)))


def report(connection, start):
    connection.send((multiprocessing.current_process().daemon, judged(start)))


@pytest.fixture(scope="module")
def pool():
    with Pool(named("misbehave"), timeout=0.5, max_error_rate=1.0) as shared:
        yield shared


def test_r34_main_thread_other_threads_and_event_loops(pool):
    async def inside():
        return scores(pool.score(items(*BATCH)))

    async def beside():
        return scores(await asyncio.to_thread(pool.score, items(*BATCH)))

    assert scores(pool.score(items(*BATCH))) == EXPECTED
    with ThreadPoolExecutor(1) as threads:
        assert scores(threads.submit(pool.score, items(*BATCH)).result()) == EXPECTED
    assert asyncio.run(inside()) == EXPECTED
    assert asyncio.run(beside()) == EXPECTED


def test_a_pool_outlives_the_thread_that_started_it():
    pool = Pool(named("misbehave"), timeout=0.5)
    with ThreadPoolExecutor(1) as threads:
        assert scores(threads.submit(pool.score, items("1")).result()) == [1.0]
    crew = pool._holder.crew
    time.sleep(0.2)
    assert scores(pool.score(items("1", "hang:2", "3"))) == [1.0, None, 3.0]
    assert pool._holder.crew is crew, "the nursery ended with the thread"
    pool.close()


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_r34_daemonic_processes(start):
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=report, args=(theirs, start), daemon=True)
    process.start()
    try:
        assert ours.poll(60)
        assert ours.recv() == (True, EXPECTED)
    finally:
        process.join(10)
    assert process.exitcode == 0


@pytest.mark.slow
def test_r34_ray_actors():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}})
    try:

        @ray.remote
        class Scorer:
            def __init__(self, pool):
                self.pool = pool

            def score(self, batch):
                return [verdict.score for verdict in self.pool.score(batch)]

        actor = Scorer.remote(Pool(named("misbehave"), timeout=0.5))
        assert ray.get(actor.score.remote(items(*BATCH)), timeout=60) == EXPECTED
    finally:
        ray.shutdown()


def test_threads_share_a_pool(pool):
    def work(offset):
        texts = [str(offset + i) for i in range(200)]
        return scores(pool.score(items(*texts))) == list(map(float, texts))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(0, 8000, 1000)))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_an_interrupt_passes_ends_what_runs_and_leaves_the_pool_usable(monkeypatch):
    monkeypatch.setenv("WINNOW_TEST", f"interrupt-{os.getpid()}")
    with Pool(named("misbehave"), timeout=60) as pool:
        timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            pool.score(items("hang:1", "hang:2", "3"))
        # The nursery is left.
        assert eventually(lambda: len(marked(f"WINNOW_TEST=interrupt-{os.getpid()}")) == 1)
        assert scores(pool.score(items("1", "2", "3"))) == [1.0, 2.0, 3.0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_fork_of_the_process_is_refused_and_harms_nothing(pool):
    pool.score(items("1"))
    pid = os.fork()
    if pid == 0:
        try:
            pool.score(items("1"))
        except ConfigError as error:
            pool.close()
            os._exit(0 if "make a Pool in each process" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitpid(pid, 0)[1] == 0
    assert scores(pool.score(items("1"))) == [1.0]


def local():
    def inner(completion):
        return float(completion)

    return inner


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda completion: float(completion), "is a lambda"),
        (local(), "inner is defined inside a function"),
        (functools.partial(lambda answer, completion: float(completion), "7"), "is a lambda"),
    ],
)
def test_b22_what_no_other_process_can_build_is_scored_here_with_one_note(function, why, caplog):
    caplog.set_level(logging.WARNING)
    with Pool(function) as pool:
        for _ in range(2):
            assert scores(pool.score(items("1", "x", "3"))) == [1.0, None, 3.0]
        assert pool.metrics()["reward_errors"] == 2
        assert pool.in_process
    notes = [record.getMessage() for record in caplog.records if "no timeout" in record.getMessage()]
    assert len(notes) == 1 and why in notes[0] and "file.py:function" in notes[0]
    assert "pickle" not in caplog.text.lower()


def test_b22_functions_of_the_main_program(tmp_path):
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import logging
        from tests.reward.pool_tools import items
        from winnow.reward.pool import Pool

        class Mine:
            name = "mine"
            def score(self, batch):
                from winnow.rollout import Verdict
                return [Verdict(2.0) for _ in batch]

        def reward(completion):
            return 1.0

        logging.basicConfig(format="%(message)s")
        for thing in (reward, Mine()):
            with Pool(thing) as pool:
                print([v.score for v in pool.score(items("a", "b"))])
        """)
    )
    path = os.pathsep.join([str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[1.0, 1.0]\n[2.0, 2.0]\n"
    notes = done.stderr.splitlines()
    assert [note.partition(":")[0] for note in notes] == [
        "reward reward is scored in this process, where no timeout and no memory limit applies",
        "reward mine is scored in this process, where no timeout and no memory limit applies",
    ]


def test_functions_and_objects_of_modules_run_in_workers():
    for thing in (functools.partial(pool_rewards.process), named("process")):
        assert not Pool(thing).in_process
    with Pool(pool_rewards.process) as pool:
        assert pool.score(items("a"))[0].score != os.getpid()
    with Pool(pool_rewards.Judge("no")) as judge, Pool(pool_rewards.Judge("no").__call__) as method:
        assert scores(judge.score(items("yes", "no"))) == scores(method.score(items("yes", "no"))) == [0.0, 1.0]


def test_a_function_of_a_file_that_is_no_module_is_named_by_its_file(tmp_path):
    import importlib.util

    (tmp_path / "loose.py").write_text("def f(completion):\n    return 0.5\n")
    spec = importlib.util.spec_from_file_location("not_on_any_path.loose", tmp_path / "loose.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
        assert as_reward(module.f, 0.5).spec == f"{tmp_path / 'loose.py'}:f"
        with Pool(module.f) as pool:
            assert not pool.in_process
            assert scores(pool.score(items("a"))) == [0.5]
    finally:
        del sys.modules[spec.name]


def test_why_a_reward_cannot_be_sent():
    class Local:
        name = "local"

        def score(self, batch):
            return []

    held = pool_rewards.Judge()
    held.lock = threading.Lock()
    assert packed(Local()).endswith("Local is defined inside a function")
    assert "cannot be pickled (TypeError: cannot pickle '_thread.lock' object)" in packed(held)
    assert isinstance(packed(as_reward(FILE.as_posix() + ":value", 0.5)), bytes)
