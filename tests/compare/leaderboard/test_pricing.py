import numpy as np
import pytest

from winnow.compare.costs import CostModel
from winnow.compare.leaderboard import pricing

TRUE = {"per_step": 0.02, "per_wave": 0.01, "per_prompt": 0.0, "per_rollout": 0.002, "per_row": 0.003}


def run(seed, steps=6):
    rng = np.random.default_rng(seed)
    counts = {
        "prompts": rng.integers(4, 33, steps).tolist(),
        "rollouts": rng.integers(64, 400, steps).tolist(),
        "rows": rng.integers(0, 64, steps).tolist(),
        "recalled_rows": rng.integers(0, 9, steps).tolist(),
        "waves": rng.integers(1, 6, steps).tolist(),
    }
    rows = [
        TRUE["per_step"] + TRUE["per_wave"] * w + TRUE["per_rollout"] * n + TRUE["per_row"] * (m + old)
        for w, n, m, old in zip(*(counts[k] for k in ("waves", "rollouts", "rows", "recalled_rows")), strict=True)
    ]
    return {"steps": {**counts, "cpu": [99.0, *rows[1:]]}}


def test_the_fit_finds_the_price_the_runs_were_made_with_and_ignores_the_first_step():
    price = pricing.fit([run(seed) for seed in range(20)])
    assert {term: getattr(price.model, term) for term in pricing.TERMS} == pytest.approx(TRUE, abs=1e-6)
    assert price.error < 1e-6 and price.runs == 20


def test_what_a_recipe_costs_beyond_its_counts_is_its_factor():
    runs = [{**run(seed), "recipe": "grpo"} for seed in range(3)] + [
        {**run(seed), "recipe": "tree"} for seed in range(3)
    ]
    for each in runs[3:]:
        each["steps"]["cpu"] = [1.5 * seconds for seconds in each["steps"]["cpu"]]
    assert pricing.factors(runs, CostModel("true", **TRUE)) == pytest.approx({"grpo": 1.0, "tree": 1.5})


def test_no_coefficient_is_negative():
    runs = [run(seed) for seed in range(12)]
    for each in runs:
        each["steps"]["cpu"] = [2.0 - 0.01 * rows for rows in each["steps"]["rows"]]
    assert all(getattr(pricing.fit(runs).model, term) >= 0 for term in pricing.TERMS)


def test_too_few_runs_have_no_price():
    assert pricing.fit([run(seed) for seed in range(7)]) is None


def test_time_of_evaluations_and_accuracy_at_a_time():
    record = {
        "curve": {"step": [0, 1, 3], "accuracy": [0.4, 0.5, 0.7]},
        "steps": {"prompts": [1, 1, 1], "rollouts": [10, 20, 30], "rows": [1, 1, 1], "recalled_rows": [1, None, 0],
                  "waves": [1, 2, 3], "cpu": [1.0, 1.0, None]},
    }  # fmt: skip
    model = CostModel("x", per_rollout=1.0, per_row=5.0, per_wave=100.0)
    assert pricing.seconds(record, model).tolist() == [0.0, 120.0, 120.0 + 225.0 + 335.0]
    assert pricing.accuracy_at(record, model, 60.0) == pytest.approx(0.45)
    assert pricing.accuracy_at(record, model, 400.0) == pytest.approx(0.6)
    assert pricing.accuracy_at(record, model, 1e9) == 0.7
    assert pricing.measured(record) == pytest.approx(3.0)
