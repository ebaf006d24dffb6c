"""The runner against a stand-in for ``winnow train`` that obeys the same rules and takes milliseconds."""

import os
import signal
import sys
import threading
import time

import pytest

from winnow.compare.runner import Job, run_jobs
from winnow.errors import ConfigError

STAND_IN = """
import json, pathlib, signal, sys, time, tomllib
folder = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
settings = tomllib.loads(pathlib.Path(sys.argv[sys.argv.index("--config") + 1]).read_text())
folder.mkdir(parents=True, exist_ok=True)
with open(folder / "calls", "a") as calls:
    calls.write("resume\\n" if "--resume" in sys.argv else "start\\n")
def stop(*_):
    (folder / "checkpoints" / "step-000001").mkdir(parents=True)
    sys.exit(130)
signal.signal(signal.SIGTERM, stop)
if settings["lr"] == 2:
    print("error: lr=2 is too much")
    sys.exit(2)
if settings["seed"] == 7 and "--resume" not in sys.argv:
    (folder / "waiting").touch()
    time.sleep(60)
code = 3 if settings["lr"] == 3 else 0
(folder / "summary.json").write_text(json.dumps({"seed": settings["seed"], "exit_code": code, "stopped": "no signal"}))
if code:
    print("error: no signal")
sys.exit(code)
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    prepare = Job.prepare
    monkeypatch.setattr(Job, "prepare", lambda self: [sys.executable, str(script), *prepare(self)[3:]])

    def make(seed=0, lr=1):
        return Job(
            "arm", seed, {"recipe": "grpo", "lr": lr, "seed": seed}, tmp_path / "runs" / f"arm-{lr}" / f"seed-{seed}"
        )

    return make


def calls(job):
    return (job.folder / "calls").read_text().split()


def test_finished_runs_are_kept(job):
    jobs = [job(0), job(1)]
    seen = []
    assert [event.state for event in run_jobs(jobs, parallel=2, report=seen.append)] == ["done", "done"]
    assert [event.state for event in run_jobs(jobs)] == ["kept", "kept"]
    assert calls(jobs[0]) == ["start"]
    assert sorted(event.state for event in seen) == ["done", "done", "started", "started"]


def test_a_safety_stop_is_one_failed_run_and_stays_one(job):
    events = run_jobs([job(0, lr=3), job(1)])
    assert [(event.state, event.detail) for event in events] == [("failed", "no signal"), ("done", "")]
    again = run_jobs([job(0, lr=3), job(1)])
    assert [event.state for event in again] == ["failed", "kept"]
    assert calls(job(0, lr=3)) == ["start"]


def test_bad_input_ends_everything_with_its_own_words(job):
    with pytest.raises(ConfigError, match="arm, seed 0: lr=2 is too much"):
        run_jobs([job(0, lr=2), job(1)])
    assert not job(1).folder.exists()


def test_an_interrupt_stops_the_runs_and_the_next_call_resumes_them(job):
    slow = job(7)

    def interrupt():
        while not (slow.folder / "waiting").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run_jobs([slow])
    assert slow.summary() is None
    assert [event.state for event in run_jobs([slow])] == ["done"]
    assert calls(slow) == ["start", "resume"]


def test_leftovers_without_a_checkpoint_are_started_over(job):
    torn = job(0)
    torn.folder.mkdir(parents=True)
    (torn.folder / "metrics.jsonl").write_text("{}\n")
    run_jobs([torn])
    assert calls(torn) == ["start"] and not (torn.folder / "metrics.jsonl").exists()
