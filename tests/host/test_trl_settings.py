"""Settings of TRL and of a recipe: worked out where possible, refused with what to set where not."""

import pytest

pytest.importorskip("trl")

from trl import GRPOConfig

import winnow
from tests.host import tiny
from tests.plan.recipes import trained
from winnow.budget import Budget
from winnow.errors import ConfigError, DataError, MissingExtra
from winnow.host.trl import grpo_config, versions
from winnow.host.trl.kept import loss_scale
from winnow.host.trl.settings import check, check_kind, with_longest
from winnow.objective.config import Objective
from winnow.plan import most_rows, objective_settings, rows_per_prompt
from winnow.registry import names
from winnow.testing import RECIPES


def test_a_config_from_prompts(tmp_path):
    args = grpo_config("pods", prompts=6, micro_batch=5, output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert (args.num_generations, args.generation_batch_size) == (8, 48)
    assert args.per_device_train_batch_size == 4  # the largest divisor of 48 that is at most 5
    assert args.steps_per_generation == args.gradient_accumulation_steps == 12
    check(winnow.recipe("pods"), None, args)


def test_a_config_brings_the_objective(tmp_path):
    args = grpo_config("dr-grpo", prompts=4, output_dir=str(tmp_path), use_cpu=True, bf16=False)
    assert args.loss_type == "dr_grpo"
    args = grpo_config(
        "dapo", prompts=4, minibatches=2, num_iterations=2, output_dir=str(tmp_path), use_cpu=True, bf16=False
    )
    assert args.epsilon_high == 0.28
    assert (args.num_iterations, args.steps_per_generation) == (2, 2 * args.gradient_accumulation_steps)
    check(winnow.recipe("dapo"), None, args)
    with pytest.raises(ConfigError, match="num_generations: worked out from recipe"):
        grpo_config("pods", prompts=4, num_generations=4, output_dir=str(tmp_path))


REFUSED = {
    "m": ("pods", {}, "set GRPOConfig\\(num_generations=8, .*or use recipe=winnow.recipe\\('pods', m=4\\)", None),
    "n": ("grpo", {}, "trains all n=8 rollouts per prompt.*winnow.recipe\\('grpo', n=4\\)", None),
    "clip": ("dapo", {"num_generations": 8}, "set GRPOConfig\\(epsilon_high=0.28\\)", None),
    "loss": ("rloo", {"num_generations": 8}, "set GRPOConfig\\(loss_type='dr_grpo'\\)", None),
    "unknown loss": ("grpo", {"num_generations": 8, "loss_type": "grop"}, "did you mean 'grpo'", None),
    "scale": ("grpo", {"num_generations": 8, "scale_rewards": "none"}, "advantage='centred' for 'none'", None),
    "objectives": (
        "grpo", {"num_generations": 8, "multi_objective_aggregation": "normalize_then_sum"}, "complete groups", None,
    ),
    "budget": ("vigor", {"num_generations": 8}, "up to 60 rows could train, 2 prompts x num_generations=8 = 16",
               Budget(rollouts=64)),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_what_to_set(tmp_path, case):
    recipe, changes, message, budget = REFUSED[case]
    found = winnow.recipe(recipe)
    args = tiny.config(tmp_path, **changes)
    with pytest.raises(ConfigError, match="(?s)" + message.replace("set GRPO", "[sS]et GRPO")):
        check(found, budget, args)


def test_weights_and_a_divergence_exclude_each_other(tmp_path):
    recipe = winnow.recipe("vigor", weight="prompt")
    check(recipe, None, tiny.config(tmp_path, num_generations=8))
    with pytest.raises(ConfigError, match="beta"):
        check(recipe, None, tiny.config(tmp_path, num_generations=8, beta=0.1))


def test_rollouts_of_several_turns_and_images_are_refused():
    for name in ("tools", "rollout_func", "environment_factory"):
        with pytest.raises(ConfigError, match=f"{name}: rollouts of several turns"):
            check_kind(None, {name: [print]})
    with pytest.raises(ConfigError, match="images \\(image\\)"):
        check_kind(tiny.dataset(2).add_column("image", [None, None]), {})


def test_a_dataset_that_fills_no_step(tmp_path):
    with pytest.raises(DataError, match="3 prompts cannot fill a step of prompts_per_step=4"):
        tiny.trainer(tiny.config(tmp_path), data=tiny.dataset(3), recipe=winnow.recipe("grpo", n=4))


def test_most_rows():
    assert most_rows(winnow.recipe("pods"), None, 4) == 32
    assert most_rows(winnow.recipe("pods"), Budget(tokens=1000), 4) == 32
    assert most_rows(winnow.recipe("pods", m=0.25), None, 4) == 32
    assert most_rows(winnow.recipe("vigor"), None, 4) == 32
    assert most_rows(winnow.recipe("vigor"), Budget(rollouts=20), 4) == 20
    assert most_rows(winnow.recipe("dapo", factor=1.5), None, 4) == 48


def test_what_an_objective_asks_for():
    assert objective_settings(Objective()) == {}
    objective = Objective(clip_low=0.1, clip_dual=3.0, aggregation="constant", constant_length=64, kl_beta=0.01)
    assert objective_settings(objective) == {
        "epsilon": 0.1, "delta": 3.0, "beta": 0.01, "loss_type": "dr_grpo", "max_completion_length": 64,
    }  # fmt: skip


def test_a_token_budget_reserves_the_longest_completion(tmp_path):
    args = tiny.config(tmp_path)
    assert with_longest(Budget(tokens=500), args) == Budget(tokens=500, longest=12)
    assert with_longest(Budget(tokens=500, longest=20), args) == Budget(tokens=500, longest=20)
    assert with_longest(None, args) is None


def test_the_denominator_counts_kept_or_all_rows():
    class Drawn:
        class batch:
            kept_rows, full_rows = 6, 24

    assert loss_scale("grpo", Objective(), Drawn, 8) == pytest.approx(8 / 6)
    assert loss_scale("grpo", Objective(denominator="full"), Drawn, 8) == pytest.approx(8 / 24)
    assert loss_scale("dapo", Objective(denominator="full"), Drawn, 8) == 1.0


def test_unknown_versions_of_trl_are_named(monkeypatch):
    for found in ("1.13.0", "1.17.0", "2.0", "0.29.1"):
        monkeypatch.setattr(versions, "version", lambda package, found=found: found)
        with pytest.raises(
            MissingExtra, match=f"trl {found} is installed; winnow.host.trl works with trl >=1.14.1,<1.17"
        ):
            versions.check()
    for found in ("1.14.1", "1.16.0", "1.16.3.dev0"):
        monkeypatch.setattr(versions, "version", lambda package, found=found: found)
        versions.check()


def test_rows_of_every_recipe_by_name():
    default = GRPOConfig.__dataclass_fields__["num_generations"].default
    for name in names():
        assert rows_per_prompt(winnow.recipe(name)) == trained(winnow.recipe(name)), name
    # Recipes that keep all of GRPO's own number of rollouts, or PODS' own m, fit TRL's default as they are.
    for name in RECIPES:
        assert rows_per_prompt(winnow.recipe(name)) == default, name
