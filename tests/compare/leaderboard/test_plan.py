import subprocess
import sys

import pytest

import winnow
from winnow import registry
from winnow.compare.leaderboard.plan import FEW, OFTEN, Plan, differs, family, names, remembering, shape
from winnow.compare.runner import nested
from winnow.errors import ConfigError
from winnow.train.config import TrainConfig
from winnow.train.prepare import check_recipe


@pytest.mark.parametrize("name", registry.names())
def test_every_recipe_has_a_shape_that_the_trainer_takes(name):
    sizes = shape(name, 128)
    plan = Plan((*dict.fromkeys(("grpo", name)),))
    for cell in (plan.tuning(name)[0], plan.probes(name)[0], plan.finals(name, 1e-4)[0]):
        found = check_recipe(TrainConfig(**nested(cell.settings)))
        assert 96 <= sizes["prompts_per_step"] * found.allocation.n <= 160


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("grpo", {"prompts_per_step": 16}),
        ("pods", {"n": 16, "m": 4, "prompts_per_step": 8}),
        ("vigor+pods", {"prompts_per_step": 16}),
    ],
)
def test_shapes(name, sizes):
    assert shape(name, 128) == sizes


def test_same_effort_for_every_recipe_and_other_seeds_for_the_result():
    plan = Plan(("grpo", "pods"), seeds=2)
    tuning = [{(c.task, c.seed, c.lr) for c in plan.tuning(name)} for name in plan.recipes]
    assert tuning[0] == tuning[1] and len(tuning[0]) == 9
    tuned = {c.seed for c in plan.tuning("grpo")} | {c.seed for c in plan.probes("grpo")}
    assert tuned.isdisjoint(c.seed for c in plan.finals("grpo", 1e-4))
    assert {c.settings["rollouts"] for n in plan.recipes for c in plan.finals(n, 1e-4)} == {plan.rollouts}


def test_recipes_that_remember_run_where_prompts_come_back():
    recipes = remembering()
    assert recipes[0] == "grpo" and {"greso", "vip", "repo"} <= {*recipes} and not {"pods", "rloo"} & {*recipes}
    cell = Plan(recipes, OFTEN).finals("grpo", 1e-4)[0]
    opened = cell.settings["rollouts"] // winnow.recipe("grpo").allocation.n
    assert cell.settings["task_options.train_size"] == FEW and opened >= 3 * FEW


def test_runs_that_count_come_seed_by_seed():
    order = [
        (c.seed, c.task, c.recipe) for c in Plan(("grpo", "pods"), seeds=2).interleaved({"grpo": 1e-4, "pods": 3e-4})
    ]
    assert order[:3] == [(0, "narrow", "grpo"), (0, "narrow", "pods"), (0, "middle", "grpo")]
    assert [seed for seed, _, _ in order] == [0] * 6 + [1] * 6


def test_names_of_records_are_their_own_and_the_same_in_every_process():
    plan = Plan(("grpo", "vigor+pods"))
    cells = [c for n in plan.recipes for c in (*plan.tuning(n), *plan.probes(n), *plan.finals(n, 1e-4))]
    assert len({c.name for c in cells}) == len(cells)
    code = (
        "from winnow.compare.leaderboard.plan import Plan; print(Plan(('grpo','mopps')).finals('mopps', 1e-4)[0].name)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert told == Plan(("grpo", "mopps")).finals("mopps", 1e-4)[0].name


def test_other_settings_are_another_record():
    assert Plan(("grpo",)).finals("grpo", 1e-4)[0].name != Plan(("grpo",), rollouts=512).finals("grpo", 1e-4)[0].name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("grpo", "baseline"),
        ("pods", "selection"),
        ("vigor", "allocation"),
        ("vigor+pods", "allocation"),
        ("rloo", "advantage or loss"),
        ("mopps", "curriculum"),
        ("repo", "recall"),
        ("no-such-recipe", "unknown"),
    ],
)
def test_families(name, expected):
    assert family(name) == expected


def test_what_differs_is_told_in_full():
    assert differs("vigor+pods") == ("allocation", "selection")
    assert differs("grpo") == differs("rloo") == ()


def test_a_plan_survives_its_file():
    plan = Plan(("grpo", "pods"), ("wide",), 3, 512, (1e-4, 2e-4))
    assert Plan.from_dict(plan.as_dict()) == plan


def test_the_baseline_is_always_in_and_unknown_names_are_refused():
    assert names(["pods"]) == ("grpo", "pods")
    assert set(names([])) == set(registry.names())
    with pytest.raises(ConfigError, match="did you mean 'pods'"):
        names(["podz"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"recipes": ("pods",)}, "add it"),
        ({"tasks": ("hard",)}, "task of the leaderboard"),
        ({"seeds": 101}, "tuning seeds"),
        ({"rollouts": 100}, "two steps"),
        ({"grid": ()}, "one rate"),
    ],
)
def test_bad_plans(settings, words):
    with pytest.raises(ConfigError, match=words):
        Plan(**{"recipes": ("grpo",), **settings})
