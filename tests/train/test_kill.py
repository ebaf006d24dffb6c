from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.train.conftest import FirstCharacter, Notes, make_policy, make_settings, make_task
from winnow.engine import Session
from winnow.train import Trainer
from winnow.train.progress import make
from winnow.train.signals import Interrupts

CHANGES = {
    "recipe": "vigor+pods",
    "n": 8,
    "m": 4,
    "steps": 20,
    "eval_every": 7,
    "checkpoint_every": 3,
    "rollouts_file_mb": 0.02,
    "rollouts_files": 99,
}

CHILD = """
import json, sys
from tests.train.conftest import FirstCharacter, Notes, make_policy, make_settings, make_task
from winnow.train import TrainConfig, Trainer
config = TrainConfig(**json.loads(sys.argv[1]))
resume = sys.argv[2] == "resume"
Trainer(config, progress=Notes(), task=make_task(), policy=make_policy()).run(resume=resume)
"""


def comparable(folder):
    """Every line of both logs, without the seconds."""
    found = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        records = [json.loads(line) for line in path.read_text().splitlines()]
        found[path.name] = [
            {k: v for k, v in record.items() if not k.startswith("seconds/") and k != "total/seconds"}
            for record in records
        ]
    return found


def start(config, mode):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["src", ".", os.environ.get("PYTHONPATH", "")])}
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, config.model_dump_json(), mode],
        env=environment,
        cwd=Path(__file__).parents[2],
        stderr=subprocess.DEVNULL,
    )


def kill_at_a_random_moment(child, folder, rng):
    """Wait until the log has changed a random number of times, then some milliseconds, then kill."""
    metrics = folder / "metrics.jsonl"
    wanted, changes, size = rng.randrange(2, 8), 0, None
    deadline = time.monotonic() + 120
    while child.poll() is None and changes < wanted and time.monotonic() < deadline:
        now = metrics.stat().st_size if metrics.exists() else None
        changes, size = changes + (now != size), now
        time.sleep(0.002)
    time.sleep(rng.random() * 0.03)
    child.kill()
    return child.wait()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Folder and summary of the run nobody disturbed."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    config = make_settings(folder, **CHANGES)
    return folder, Trainer(config, progress=Notes(), task=make_task(), policy=make_policy()).run()


def resume(config):
    return Trainer(config, progress=Notes(), task=make_task(), policy=make_policy()).run(resume=True)


def assert_same(folder, summary, whole):
    assert summary["weights_sha256"] == whole[1]["weights_sha256"]
    assert comparable(folder) == comparable(whole[0])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_killed_and_resumed_equals_undisturbed(settings, tmp_path, whole):
    config = settings(out=str(tmp_path / "killed"), **CHANGES)
    assert kill_at_a_random_moment(start(config, "start"), tmp_path / "killed", random.Random(0)) == -signal.SIGKILL
    assert not (tmp_path / "killed" / "summary.json").exists()
    assert_same(tmp_path / "killed", resume(config), whole)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_kills_in_a_row(settings, tmp_path, whole):
    """Each process but the last is killed at a random moment."""
    config = settings(out=str(tmp_path / "killed"), **CHANGES)
    rng = random.Random(1)
    killed = 0
    for number in range(10):
        child = start(config, "resume" if number else "start")
        killed += kill_at_a_random_moment(child, tmp_path / "killed", rng) == -signal.SIGKILL
    assert killed >= 5  # the others had finished before
    assert_same(tmp_path / "killed", resume(config), whole)


class Crash(FirstCharacter):
    """Ends the process's run as a kill does: nothing is saved, the logs keep lines after the last checkpoint."""

    class Killed(BaseException):
        pass

    def __init__(self, start: str) -> None:
        object.__setattr__(self, "start", start)

    def score(self, items):
        if any(item.rollout.startswith(self.start) for item in items):
            raise Crash.Killed
        return super().score(items)


@pytest.mark.parametrize("where", ["2/", "5/", "19/", "evaluation/"])
def test_crashed_and_resumed_equals_undisturbed(settings, tmp_path, whole, where):
    config = settings(**CHANGES)
    with pytest.raises(Crash.Killed):
        Trainer(config, progress=Notes(), task=make_task(reward=Crash(where)), policy=make_policy()).run()
    assert_same(tmp_path / "run", resume(config), whole)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_the_run_can_go_on(settings, tmp_path, whole, number):
    config = settings(out=str(tmp_path / "run"), **CHANGES)

    class Sender(Notes):
        def step(self, metrics, fraction):
            if metrics["step"] == 11:
                os.kill(os.getpid(), number)

    summary = Trainer(config, progress=Sender(), task=make_task(), policy=make_policy()).run()
    assert summary["exit_code"] == 130 and number.name in summary["stopped"] and summary["steps"] == 11
    assert signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
    assert_same(tmp_path / "run", resume(config), whole)


@pytest.mark.parametrize("where", ["load", "evaluation"])
def test_a_signal_before_the_first_step_says_how_to_go_on(settings, tmp_path, monkeypatch, capsys, where):
    def interrupt(*_):
        os.kill(os.getpid(), signal.SIGTERM)

    class Early(FirstCharacter):
        def score(self, items):
            pytest.fail("the evaluation went on")

    if where == "load":
        monkeypatch.setattr(
            Interrupts, "__enter__", lambda self, enter=Interrupts.__enter__: (enter(self), interrupt())
        )
    else:
        monkeypatch.setattr(Session, "advance", lambda self, real=Session.advance: (interrupt(), real(self))[1])
    config = settings(steps=2)
    task = make_task(reward=Early())
    summary = Trainer(config, progress=make("quiet"), task=task, policy=make_policy()).run()
    assert summary["exit_code"] == 130 and summary["steps"] == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and "SIGTERM" in said[0] and f"winnow train --out {tmp_path / 'run'} --resume" in said[0]
    monkeypatch.undo()
    assert resume(config)["steps"] == 2
    assert [line["step"] for line in comparable(tmp_path / "run")["metrics.jsonl"]] == [0, 1, 2]


def test_a_signal_between_the_first_evaluation_and_the_first_step_keeps_its_line(settings, tmp_path):
    class Sender(Notes):
        def step(self, metrics, fraction):
            if metrics["step"] == 0:
                os.kill(os.getpid(), signal.SIGTERM)

    config = settings(steps=2)
    assert Trainer(config, progress=Sender(), task=make_task(), policy=make_policy()).run()["steps"] == 0
    assert resume(config)["steps"] == 2
    assert [line["step"] for line in comparable(tmp_path / "run")["metrics.jsonl"]] == [0, 1, 2]


def test_a_second_signal_ends_the_run_at_once(settings, tmp_path):
    class Sender(Notes):
        def step(self, metrics, fraction):
            if metrics["step"] == 2:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.1)

    config = settings(steps=50)
    with pytest.raises(KeyboardInterrupt):
        Trainer(config, progress=Sender(), task=make_task(), policy=make_policy()).run()
    assert not (tmp_path / "run" / "summary.json").exists()
