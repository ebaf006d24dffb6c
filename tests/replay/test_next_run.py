"""A replay of one run's log against what further runs did."""

import json

import numpy as np
import pytest

import winnow
from winnow.cli import run
from winnow.replay import find_cost, read_log, replay

pytest.importorskip("torch")
SIZES = ("--steps", "24", "--prompts", "16", "--n", "16", "--set", "eval_prompts=0", "--no-report", "--quiet")


def train(folder, recipe, seed):
    assert run(["train", "--recipe", recipe, "--seed", str(seed), "--out", str(folder), *SIZES]) == 0
    steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    steps = [step for step in steps if step.get("rollouts")]
    prompts = np.array([step["prompts"] for step in steps])
    return {
        "no_signal": float(prompts @ [step["signal/no_signal"] for step in steps] / prompts.sum()),
        "rows": float(np.mean([step["rows"] for step in steps])),
    }


@pytest.mark.slow
def test_the_log_of_a_run_foretells_no_signal_and_trained_rows_of_the_next(tmp_path):
    own = train(tmp_path / "log", "grpo", 0)
    rules = {name: winnow.recipe(name, n=16) for name in ("grpo", "vigor")}
    log, cost = read_log([tmp_path / "log"]), find_cost(None, [tmp_path / "log"])
    found = replay(log, list(rules.values()), cost=cost, recommend=False)["recipes"]
    found = {"grpo": found["grpo n=16"], "vigor": found["vigor"]}
    for name, value in own.items():
        assert found["grpo"][name]["value"] == pytest.approx(value)
    assert found["grpo"]["seconds"]["value"] > 0
    for recipe in rules:
        seen = train(tmp_path / recipe, recipe, 1)
        for name, value in seen.items():
            told = found[recipe][name]
            assert told["next_low"] <= value <= told["next_high"], (recipe, name, value, told)
    # The two recipes differ by more than the intervals are wide, so that they could have been wrong.
    assert found["grpo"]["no_signal"]["next_high"] < found["vigor"]["no_signal"]["next_low"]
