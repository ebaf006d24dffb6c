import json
import math

import numpy as np
import pytest

from tests.report.synthetic import write_run
from winnow.compare import compare_runs, cost_model, table
from winnow.compare.figures import draw
from winnow.compare.page import render
from winnow.errors import ConfigError, DataError
from winnow.report import load_run

RISE = {"grpo": 0.2, "vigor+pods": 0.4}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return {
        label: [
            load_run(write_run(root / label / str(seed), recipe=label, rise=rise, seed=seed, steps=12, eval_every=3))
            for seed in range(3)
        ]
        for label, rise in RISE.items()
    }


@pytest.fixture(scope="module")
def comparison(runs):
    return compare_runs(runs)


def test_the_automatic_target_is_the_best_mean_of_the_first_recipe(comparison, runs):
    curves = [run.series("eval/accuracy")[0] for run in runs["grpo"]]
    assert comparison.target == pytest.approx(np.mean(curves, axis=0).max(), abs=0.01)
    assert comparison.automatic


def test_the_better_recipe_gets_there_for_less(comparison):
    grpo, both = comparison.arms
    for currency in ("rollouts", "rows", "tokens", "seconds"):
        assert both.reach[currency].value < grpo.reach[currency].value
    assert both.gain.low > 0 and grpo.gain.value == 0


def test_a_target_out_of_reach_is_censored(runs):
    found = compare_runs(runs, target=0.65)
    grpo, both = found.arms
    assert grpo.reach["rollouts"].censored == 3 and grpo.reach["rollouts"].value == math.inf
    assert both.reach["rollouts"].censored == 0
    cells = table.rows(found)[0]
    assert cells[1].value == "> budget" and "0/3 seeds" in cells[1].under
    assert found.as_dict()["arms"][0]["to_target"]["rollouts"]["value"] is None


def test_prices_come_from_the_same_runs(runs):
    found = compare_runs(runs, cost=cost_model("0,1,0"))
    for arm in found.arms:
        assert arm.reach["seconds"].value == pytest.approx(arm.reach["rollouts"].value)
    assert set(found.regimes) == {"0,1,0", "measured", "pods", "pods-step", "update-bound"}


def test_everything_is_json_and_a_page(comparison, tmp_path):
    json.dumps(comparison.as_dict(), allow_nan=False)
    figures = draw(comparison, tmp_path)
    assert set(figures) == {"curves", "cost-to-target"}
    page = render(comparison, figures, "task mix")
    assert page.count("data:image/png;base64,") == 2 and "vigor+pods" in page


def test_cells_are_narrow_enough_for_six_columns_of_a_terminal(comparison, runs):
    for found in (comparison, compare_runs(runs, target=0.65)):
        for _, *costs, gain in table.rows(found):
            assert all(len(line) < 12 for cell in costs for line in (cell.value, *cell.under.splitlines()))
            assert len(gain.value) < 16 and len(gain.under) < 16


def test_seeds_that_failed_are_told(runs):
    notes = table.notes(compare_runs(runs, failed={"grpo": 2, "vigor+pods": 0}))
    assert any("left out: grpo 2" in note for note in notes)


def test_nothing_to_compare_is_refused(runs, tmp_path):
    with pytest.raises(ConfigError, match="no finished run of pods"):
        compare_runs({**runs, "pods": []})
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "total/rollouts": 8}\n')
    with pytest.raises(DataError, match="no evaluation"):
        compare_runs({"grpo": [load_run(tmp_path)]})
