from pathlib import Path

import pytest

from winnow.compare import Arm, Experiment
from winnow.compare.runner import nested
from winnow.errors import ConfigError

GRPO = Arm("grpo", {"recipe": "grpo", "n": 4})
VIGOR = Arm("vigor:rounds=3", {"recipe": "vigor", "recipe_options.rounds": 3})
BASE = {"task": "mix", "recipe_options.ddof": 0, "lr": 1e-3}


def experiment(**changes):
    values = {"arms": (GRPO, VIGOR), "seeds": (0, 1), "base": BASE, "unit": "rollouts", "budget": 100}
    return Experiment(**(values | changes))


def test_settings_are_base_then_arm_then_budget_and_seed():
    assert nested(experiment().settings(VIGOR, 1)) == {
        "task": "mix", "lr": 1e-3, "recipe": "vigor", "recipe_options": {"ddof": 0, "rounds": 3},
        "rollouts": 100, "seed": 1,
    }  # fmt: skip


def test_jobs_go_seed_by_seed_so_that_a_stop_leaves_pairs():
    jobs = experiment().jobs(Path("x"))
    assert [(job.arm, job.seed) for job in jobs] == [
        ("grpo", 0), ("vigor:rounds=3", 0), ("grpo", 1), ("vigor:rounds=3", 1),
    ]  # fmt: skip
    assert len({job.folder for job in jobs}) == 4


def test_other_settings_get_other_folders_and_the_same_ones_come_back():
    folders = {job.folder for job in experiment().jobs(Path("x"))}
    assert folders == {job.folder for job in experiment().jobs(Path("x"))}
    assert not folders & {job.folder for job in experiment(budget=200).jobs(Path("x"))}
    more = {job.folder for job in experiment(seeds=(0, 1, 2)).jobs(Path("x"))}
    assert folders < more


@pytest.mark.parametrize(
    "changes",
    [
        {"arms": ()},
        {"arms": (GRPO, GRPO)},
        {"seeds": ()},
        {"unit": "steps"},
        {"budget": 0},
        {"budget": float("nan")},
        {"budget": float("inf")},
    ],
)
def test_experiments_that_make_no_sense_are_refused(changes):
    with pytest.raises(ConfigError):
        experiment(**changes)
