"""Every recipe trains a toy policy in the embedded trainer, spends its budget exactly, and survives a cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.train.conftest import FirstCharacter, Notes, make_policy, make_settings, make_task

import winnow
from winnow.registry import names
from winnow.train import Trainer

CORE = ("grpo", "vigor+pods", "dapo", "vip", "mopps", "branch")
PROMPTS = 2

pytestmark = pytest.mark.filterwarnings("ignore:every group has size 1")


class WithSteps(FirstCharacter):
    """Also judges the steps of a completion, for recipes that need such a score; may ask the run to stop."""

    trainer: Trainer | None = None
    stop_at = ""

    def score(self, items):
        if self.stop_at and items[0].rollout.startswith(self.stop_at) and self.trainer:
            self.trainer.interrupts.stop("SIGTERM")
        verdicts = super().score(items)
        return [
            replace(verdict, parts={**verdict.parts, "score": len(item.completion) / 4})
            for item, verdict in zip(items, verdicts, strict=True)
        ]


def play(folder: Path, name: str, steps: int, stop_at: str = "", resume: bool = False):
    spent = PROMPTS * winnow.recipe(name).allocation.n * steps + 3
    config = make_settings(
        folder, recipe=name, n=None, prompts_per_step=PROMPTS, steps=None, rollouts=spent, eval_every=0,
        eval_prompts=0, checkpoint_every=4, max_no_signal_steps=1000, log_rollouts="all",
    )  # fmt: skip
    reward = WithSteps()
    trainer = Trainer(config, progress=Notes(), task=make_task(train=24, reward=reward), policy=make_policy())
    if stop_at:
        object.__setattr__(reward, "trainer", trainer)
        object.__setattr__(reward, "stop_at", stop_at)
    return spent, trainer.run(resume=resume)


def check(tmp_path: Path, name: str, steps: int) -> None:
    spent, whole = play(tmp_path / "whole", name, steps)
    assert whole["exit_code"] == 0 and whole["stopped"] == "limit rollouts"
    assert spent - 1 <= whole["rollouts"] <= spent, "a run ends when less than two rollouts are left"
    assert whole["rows"] > 0 or steps < 20
    _, cut = play(tmp_path / "cut", name, steps, stop_at=f"{steps // 2 + 1}/")
    assert cut["exit_code"] == 130 and 0 < cut["steps"] < whole["steps"]
    _, resumed = play(tmp_path / "cut", name, steps, resume=True)
    for key in ("weights_sha256", "steps", "rollouts", "rows", "tokens"):
        assert resumed[key] == whole[key], key
    logs = [(tmp_path / run / "rollouts.jsonl").read_bytes() for run in ("whole", "cut")]
    assert logs[0] == logs[1] and logs[0].count(b"\n") == whole["rollouts"]


@pytest.mark.parametrize("name", CORE)
def test_a_short_run(tmp_path, name):
    check(tmp_path, name, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_twenty_steps(tmp_path, name):
    check(tmp_path, name, 20)
