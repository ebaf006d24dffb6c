import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import CASES
from winnow import recipe as winnow_recipe
from winnow.errors import ConfigError, DataError
from winnow.plan import (
    kept_rows,
    no_signal_from_pilot,
    no_signal_share,
    optimizer_steps,
    step_plan,
    trl_settings,
    verl_settings,
)


def test_no_signal_share_of_the_case():
    case = CASES["PLAN-01"]
    got = [round(float(no_signal_share(case["input"]["pass_rate"], n)), 4) for n in case["input"]["group_sizes"]]
    assert got == case["expected"]["expected_no_signal_fraction"]


@pytest.mark.parametrize(("rate", "n"), [(1.2, 4), (-0.1, 4), (float("nan"), 4), (0.5, 0)])
def test_no_signal_share_refuses(rate, n):
    with pytest.raises(ConfigError):
        no_signal_share(rate, n)


@given(st.integers(2, 6), st.integers(0, 4), st.floats(0.05, 0.95))
def test_the_pilot_is_unbiased(n, extra, rate):
    drawn = n + extra
    counts = np.arange(drawn + 1)
    chance = [float(np.prod([])) for _ in counts]
    from math import comb

    chance = [comb(drawn, int(count)) * rate**count * (1 - rate) ** (drawn - count) for count in counts]
    expected = float(np.dot(chance, no_signal_from_pilot(counts, drawn, n)))
    assert expected == pytest.approx(float(no_signal_share(rate, n)))


def test_a_pilot_smaller_than_the_group_is_refused():
    with pytest.raises(ConfigError, match="draw 8"):
        no_signal_from_pilot([1], 4, 8)


def test_optimizer_steps_of_the_cases():
    case = CASES["PLAN-04"]["input"]
    steps = optimizer_steps(case["dataset_prompts"], case["prompts_per_step"], case["epochs"])
    assert steps == CASES["PLAN-04"]["expected"]["optimizer_steps"]
    short = CASES["PLAN-03"]["input"]
    with pytest.raises(DataError, match=r"3 prompts.*8"):
        optimizer_steps(short["dataset_rows"], short["prompts_per_step"])


@pytest.mark.parametrize(
    ("n", "m", "kept"), [(8, None, 8), (8, 4, 4), (8, 0.25, 2), (10, 0.3, 3), (4, 8, 4), (8, 1.0, 8), (8, 1, 1)]
)
def test_kept_rows(n, m, kept):
    assert kept_rows(n, m) == kept


def test_nothing_has_to_divide_anything():
    plan = step_plan(5, 16, 6, micro_batch=4)  # B15
    assert (plan.rollouts, plan.rows, plan.micro_steps, plan.updates) == (80, 30, 8, 1)
    assert step_plan(5, 16, 6, micro_batch=4, epochs=2, minibatches=4).micro_steps == 2 * 8
    for n, m in ((1, None), (8, 1), (8, 16), (8, 0.1)):
        with pytest.raises(ConfigError):
            step_plan(5, n, m)


sizes = st.integers(1, 12)


@given(prompts=sizes, m=st.integers(2, 12), processes=sizes, minibatches=st.integers(1, 4), most=sizes)
def test_host_settings_keep_the_rules_of_the_host(prompts, m, processes, minibatches, most):
    plan = step_plan(prompts, 16, m)
    trl = SimpleNamespace(**trl_settings(plan, processes=processes, minibatches=minibatches, micro_batch=most).settings)
    local = trl.per_device_train_batch_size * trl.steps_per_generation
    assert local % trl.num_generations == 0  # whole groups on every process
    assert (local * processes) % m == 0  # what TRL itself checks
    assert trl.steps_per_generation == minibatches * trl.gradient_accumulation_steps
    assert prompts <= local * processes // m < prompts + processes * minibatches
    assert trl.per_device_train_batch_size <= most

    verl = verl_settings(plan, gpus=processes, minibatches=minibatches, micro_batch=most).settings
    batch, mini = verl["data.train_batch_size"], verl["actor_rollout_ref.actor.ppo_mini_batch_size"]
    micro = verl["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"]
    assert batch == mini * minibatches and verl["actor_rollout_ref.rollout.n"] == m
    assert (mini * m) % processes == 0 and (mini * m // processes) % micro == 0
    assert batch >= prompts and micro <= most


def test_a_plan_that_fits_is_not_changed():
    found = trl_settings(step_plan(8, 32, 8), processes=4)
    assert found.changed == () and found.settings["num_generations"] == 8
    raised = trl_settings(step_plan(6, 32, 8), processes=4)
    assert raised.changed == ("prompts 6 -> 8, the next multiple of 4 (processes x minibatches)",)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"prompt": f"{i}+1=", "answer": str(i + 1)}) + "\n" for i in range(20)))
    return path


def test_the_command_tells_values_sources_and_sizes(winnow, data, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('recipe = "pods"\nn = 4\n')
    common = ["plan", "--task", data, "--config", file, "--n", 8, "--m", 4, "--prompts", 5, "--micro-batch", 3]
    told = winnow(*common, "--pass-rate", 0.2, "--set", "task_options.test_fraction=0.0", "--passes", 2, "--json")
    assert told.code == 0, told.err
    facts = json.loads(told.out)
    assert facts["settings"]["n"] == {"value": 8, "from": "flag"}  # B17
    assert facts["settings"]["recipe"] == {"value": "pods", "from": "file"}
    assert facts["step"]["rows"] == 20 and facts["step"]["micro_steps"] == 7
    assert facts["run"]["optimizer_steps"] == 8
    assert facts["signal"]["at_n"] == pytest.approx(0.2**8 + 0.8**8)
    shown = winnow(*common)
    assert shown.code == 0 and max(len(line) for line in shown.out.splitlines()) <= 80
    assert "num_generations" in shown.out and "rollout.n" in shown.out


@pytest.mark.parametrize("recipe", ["grpo", "rloo", "dr-grpo", "vigor", "pods", "vigor+pods"])
def test_every_recipe_has_a_plan(winnow, data, recipe):
    told = winnow("plan", "--recipe", recipe, "--task", data, "--json")
    assert told.code == 0, told.err
    step = json.loads(told.out)["step"]
    assert step["m"] == (step["n"] if "pods" not in recipe else winnow_recipe(recipe).selection.m)


def test_more_trained_than_any_prompt_has_is_refused(winnow):
    sentence = "m=8 > n=4: no prompt has more than 4 rollouts to keep 8 of"
    told = winnow("plan", "--recipe", "pods", "--n", 4, "--m", 8)
    assert told.code == 2 and sentence in told.err
    with pytest.raises(ConfigError, match=sentence):
        step_plan(6, 4, 8)


def test_m_above_the_mean_of_unequal_groups_is_told(winnow, data):
    told = winnow("plan", "--recipe", "vigor+pods", "--m", 12, "--task", data)
    assert told.code == 0 and "128 at most, all that are drawn; m 12 bounds a single prompt" in told.out


@pytest.mark.parametrize(
    ("options", "shown"), [(["grpo"], "all"), (["pods", "--m", "0.5"], "0.5 of n"), (["pods"], "8")]
)
def test_m_is_a_number_a_share_or_all(winnow, data, options, shown):
    told = winnow("plan", "--task", data, "--recipe", *options)
    assert re.search(rf"^  m +{shown}  ", told.out, re.MULTILINE), told.out


def test_one_spelling_of_optimiser(winnow, data):
    told = winnow("plan", "--task", data)
    assert told.out.count("optimiser steps") == 2 and "optimizer" not in told.out


def test_rollouts_of_a_recipe_with_spare_prompts(winnow, data):
    told = winnow("plan", "--recipe", "dapo", "--task", data)
    assert "128 = 16 prompts x n 8; up to 384 where signal is missing" in told.out


def test_totals_of_a_run_are_ranges_where_the_recipe_decides(winnow, data):
    run = json.loads(winnow("plan", "--recipe", "greso", "--task", data, "--steps", 10, "--json").out)["run"]
    assert (run["rollouts"], run["rollouts_at_most"]) == (1280, 2560)
    told = winnow("plan", "--recipe", "greso", "--task", data, "--steps", 10).out
    assert re.search(r"^  rollouts +1,280 to 2,560 *$", told, re.MULTILINE), told
    told = winnow("plan", "--recipe", "greso", "--task", data, "--set", "rollouts=1280").out
    assert re.search(r"^  steps +5 to 10 *$", told, re.MULTILINE) and re.search(r"^  rollouts +1,280 *$", told, re.M)
    told = winnow("plan", "--recipe", "pilot-commit", "--task", data).out
    assert "512 = 16 prompts x n 32; 384 to 768 as signal has it" in told


def test_recalled_rows_and_a_single_pass_are_told(winnow, data):
    told = winnow("plan", "--recipe", "repo", "--task", data, "--steps", 1).out
    assert "and up to 128 of earlier" in told and re.search(r"rows at most +256 ", told)
    assert "note: recipe repo learns from a prompt's earlier visits" in told
    assert "note:" not in winnow("plan", "--recipe", "repo", "--task", data).out


@pytest.mark.parametrize("host", ["trl", "verl"])
def test_settings_of_one_host_are_all_that_is_printed(winnow, host):
    # More prompts than the built-in task has: the data is the other trainer's.
    common = ["plan", "--recipe", "pods", "--n", 16, "--m", 4, "--prompts", 5000, "--gpus", 8, "--host", host]
    told = winnow(*common, "--set", "lr=1e-6")
    assert told.code == 0, told.err
    if host == "trl":
        compile(told.out, "plan", "exec")
        assert 'winnow.recipe("pods", n=16, m=4)' in told.out and "learning_rate=1e-06," in told.out
        assert "max_steps" not in told.out and "max_completion_length" not in told.out
    else:
        assert "    +winnow.settings.m=4 \\\n" in told.out and "actor.optim.lr=1e-06 \\\n" in told.out
    assert all(len(line) <= 120 for line in told.out.splitlines() if line.startswith("#"))
    facts = json.loads(winnow(*common, "--json").out)
    assert set(facts["hosts"]) == {"processes", host} and facts["run"]["prompts_in_data"] is None


def test_the_data_of_the_user_counts_for_a_host_too(winnow, data):
    told = winnow("plan", "--task", data, "--prompts", 64, "--host", "trl")
    assert told.code == 2 and "64" in told.err


def test_steps_and_passes_reach_the_host(winnow):
    told = winnow("plan", "--host", "trl", "--steps", 30, "--set", "epochs=2", "--set", "minibatches=2")
    assert "max_steps=120," in told.out
    assert "num_train_epochs=2.0," in winnow("plan", "--host", "trl", "--passes", 2).out
    assert "trainer.total_training_steps=30 " in winnow("plan", "--host", "verl", "--steps", 30).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--host", "tlr"), "unknown host 'tlr', did you mean 'trl'?"),
        (("--host", "trl", "--pilot", 8), "leave out --pass-rate and --pilot"),
        (("--host", "trl", "--pass-rate", 0.5), "leave out --pass-rate and --pilot"),
        (("--host", "trl", "--recipe", "dapo", "--set", "recipe_options.factor=2.0"), "up to 256 rows could train"),
    ],
)
def test_hosts_that_are_refused(winnow, arguments, message):
    told = winnow("plan", *arguments)
    assert told.code == 2 and message in told.err and not told.out


def test_a_host_that_cannot_train_a_recipe_says_why_beside_the_others(winnow, data):
    told = winnow("plan", "--recipe", "dapo", "--set", "recipe_options.factor=2.0", "--task", data)
    assert told.code == 0, told.err
    assert "TRL GRPOConfig  not possible there: up to 256 rows" in told.out and "rollout.n" in told.out


def test_plans_need_no_torch():
    code = "import sys, winnow.plan; assert not {'torch', 'trl', 'verl', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("passes", ["nan", "inf", "0", "-1", "1e300"])
@pytest.mark.parametrize("host", [(), ("--host", "trl"), ("--host", "verl")])
def test_passes_have_limits(winnow, data, passes, host):
    for task in (("--task", data), ()):
        told = winnow("plan", *task, "--passes", passes, *host)
        assert told.code == 2 and "passes over the data: must be above 0" in told.err and not told.out


def test_the_budget_of_a_step_is_in_its_sizes(winnow, data):
    common = ["plan", "--task", data, "--recipe", "grpo", "--steps", 10, "--pass-rate", 0.5]
    cut = [*common, "--set", "rollouts_per_step=64"]
    facts = json.loads(winnow(*cut, "--json").out)
    assert (facts["step"]["rollouts"], facts["step"]["rows"], facts["run"]["rollouts"]) == (64, 64, 640)
    assert facts["settings"]["rollouts_per_step"] == {"value": 64, "from": "flag"}
    assert facts["signal"]["at_n"] == pytest.approx(2 * 0.5**4)
    told = winnow(*cut).out
    assert "64, set by rollouts_per_step" in told and "64 at most of the 64 drawn" in told and "note:" not in told
    ended = [*common[:-4], "--set", "rollouts_per_step=64", "--set", "rollouts=1280"]
    assert json.loads(winnow(*ended, "--json").out)["run"]["steps"] == 20
    spread = json.loads(winnow(*cut[:-1], "rollouts_per_step=256", "--recipe", "vigor", "--json").out)
    assert spread["step"]["rollouts"] == spread["step"]["rows"] == 256


def test_a_budget_that_the_sizes_cannot_show_is_told(winnow, data):
    common = ["plan", "--task", data, "--recipe", "grpo", "--json", "--set"]
    notes = json.loads(winnow(*common, "rollouts_per_step=200").out)["notes"]
    assert "rollouts_per_step=200 is more than recipe grpo draws, at most 128" in " ".join(notes)
    tokens = ["budget_unit=tokens", "--set", "tokens_per_step=2000"]
    assert "a step spends up to 2,000 tokens" in " ".join(json.loads(winnow(*common, *tokens).out)["notes"])


def test_a_number_no_machine_can_count_to_is_bad_input(winnow, data):
    told = winnow("plan", "--task", data, "--n", "9" * 20)
    assert told.code == 2 and "whole numbers go up to" in told.err


def test_data_that_fills_no_step_is_bad_input(winnow, data):
    told = winnow("plan", "--task", data, "--prompts", 64)  # B7
    assert told.code == 2 and "64" in told.err


def test_columns_and_reward_are_options_here_too(winnow, tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"text": f"{i}+1=", "sum": str(i + 1)}) + "\n" for i in range(20)))
    told = winnow("plan", "--task", path)
    assert told.code == 2 and "--prompt-column" in told.err and "--answer-column" in told.err
    columns = ["--prompt-column", "text", "--answer-column", "sum"]
    told = winnow("plan", "--task", path, *columns, "--reward", "exact", "--json")
    assert told.code == 0, told.err
    assert json.loads(told.out)["run"]["prompts_in_data"] == 18


def test_a_pilot_measures_what_ties(winnow):
    told = winnow("plan", "--recipe", "grpo", "--n", 4, "--pilot", 12, "--set", "max_new_tokens=12", "--json")
    assert told.code == 0, told.err
    signal = json.loads(told.out)["signal"]
    assert signal["prompts"] == sum(signal["pass_rates"].values()) == 12
    assert signal["at_n"] == pytest.approx(1 - signal["with_signal"] / 12)
    assert set(signal["by_n"]) == {"2", "4"}
