"""The readable loop and the trainer are two programs for the same run: their numbers are the same."""

import importlib.util
import sys
from pathlib import Path

import pytest

from winnow.report import load_run
from winnow.train import TrainConfig, Trainer
from winnow.train.progress import make

FILE = Path(__file__).parents[2] / "examples" / "by_hand.py"


def by_hand():
    spec = importlib.util.spec_from_file_location("by_hand", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["by_hand"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("recipe", ["grpo", "vigor+pods"])
def test_the_example_gives_the_numbers_of_the_trainer(recipe, tmp_path):
    example = by_hand()
    common = {"recipe": recipe, "steps": 3, "lr": 3e-4, "max_new_tokens": 12, "eval_prompts": 24, "eval_samples": 2}
    readable = example.run(example.Settings(**common, prompts=8, eval_every=2))
    config = TrainConfig(**common, prompts_per_step=8, eval_every=2, checkpoint_every=0, out=str(tmp_path / "run"))
    Trainer(config, progress=make("quiet")).run()
    trained = load_run(tmp_path / "run").steps
    assert len(readable) == len(trained) == 4
    for mine, theirs in zip(readable, trained, strict=True):
        assert theirs["step"] == mine["step"]
        for ours, name in (
            ("reward", "reward/all"),
            ("no_signal", "signal/no_signal"),
            ("rollouts", "rollouts"),
            ("rows", "rows"),
            ("accuracy", "eval/accuracy"),
        ):
            assert theirs.get(name) == pytest.approx(mine.get(ours)), (mine["step"], ours)
        for name in ("loss", "grad_norm"):
            assert theirs.get(name, 0.0) == pytest.approx(mine.get(name, 0.0), rel=1e-3, abs=1e-5), (mine["step"], name)
