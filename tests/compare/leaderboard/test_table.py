import json

import numpy as np
import pytest

from tests.compare.leaderboard.records import failed, record, write
from winnow.compare.leaderboard import findings
from winnow.compare.leaderboard.page import render
from winnow.compare.leaderboard.plan import Plan
from winnow.compare.leaderboard.publish import as_dict, publish
from winnow.compare.leaderboard.table import chosen, read_board, tuning
from winnow.errors import DataError

PLAN = Plan(("grpo", "pods", "rloo", "vigor"), ("narrow", "wide"), seeds=3, rollouts=512, grid=(1e-4, 2e-4))
LEVEL = {"grpo": 0.60, "pods": 0.56, "rloo": 0.64, "vigor": 0.5}


@pytest.fixture
def folder(tmp_path):
    """A leaderboard in which pods has one seed less, and vigor failed in every tuning run."""
    (tmp_path / "plan.json").write_text(json.dumps(PLAN.as_dict()))
    for name in PLAN.recipes:
        for cell in PLAN.tuning(name):
            better = 0.02 if (cell.lr == 2e-4) == (name == "pods") else 0.0
            told = failed(cell, "ValueError: a | b\nline") if name == "vigor" else record(cell, LEVEL[name] + better)
            write(tmp_path, cell, told)
        if name == "vigor":
            continue
        for cell in PLAN.probes(name):
            write(tmp_path, cell, record(cell, 0.4, scale={"grpo": 8.0, "pods": 30.0, "rloo": 5.0}[name]))
        for cell in PLAN.finals(name, 2e-4 if name == "pods" else 1e-4):
            if name == "pods" and cell.seed == 2:
                continue
            level = LEVEL[name] + 0.01 * cell.seed - (0.2 if cell.task == "wide" else 0.0)
            rows, cpu = (16, 0.2) if name == "pods" else (64, 0.4)
            write(
                tmp_path, cell, record(cell, level, rows=rows, cpu=cpu, no_signal=0.6 if cell.task == "wide" else 0.2)
            )
    return tmp_path


def board_of(folder):
    return read_board(folder)


def test_the_best_mean_wins_and_ties_go_to_the_smaller_rate():
    assert chosen({1e-4: [0.5, 0.6], 2e-4: [0.7, 0.3]}) == 1e-4
    assert chosen({2e-4: [0.5], 1e-4: [0.5]}) == 1e-4
    assert chosen({1e-4: []}) is None


def test_a_rate_is_chosen_when_all_its_runs_are_there(folder):
    assert tuning(PLAN, folder, "grpo")[0] == 1e-4
    assert tuning(PLAN, folder, "pods")[0] == 2e-4
    (folder / PLAN.tuning("pods")[0].name).unlink()
    assert tuning(PLAN, folder, "pods")[0] is None


def test_a_rate_at_which_a_run_failed_is_out(folder):
    best = next(cell for cell in PLAN.tuning("grpo") if cell.lr == 1e-4)
    write(folder, best, failed(best))
    lr, kept, errors = tuning(PLAN, folder, "grpo")
    assert lr == 2e-4 and 1e-4 not in kept and errors == ["ConfigError: no"]


def test_scores_gains_and_ranks(folder):
    board = board_of(folder)
    grpo, pods, rloo, vigor = range(4)
    assert board.scores("narrow")[pods, :2].tolist() == pytest.approx([0.56, 0.57])
    assert np.isnan(board.scores("narrow")[pods, 2]) and np.isnan(board.scores("narrow")[vigor]).all()
    assert board.gains("narrow")[rloo].value == pytest.approx(0.04)
    assert board.gains("narrow")[pods].value == pytest.approx(-0.04) and board.gains("narrow")[pods].seeds == 2
    assert [board.places("wide")[place].value for place in (rloo, grpo, pods)] == [1, 2, 3]
    assert [board.places()[place].value for place in (rloo, grpo, pods)] == [1, 2, 3]
    assert np.isnan(board.places()[vigor].value)
    assert board.lines[vigor].lr is None and board.lines[vigor].errors == {"ValueError: a | b\nline": 4}


def test_equal_seconds_are_those_of_the_cheapest_recipe(folder):
    board = board_of(folder)
    whole = {line.recipe: line.mean("narrow", board.spent) for line in board.lines if line.runs}
    assert whole["pods"] < whole["grpo"]
    assert board.budget["narrow"] == pytest.approx(max(whole["pods"], whole["grpo"] / 2))
    at = board.scores("narrow", timed=True)
    share = board.budget["narrow"] / whole["grpo"]
    assert at[0, 0] == pytest.approx(0.4 + 0.2 * share)
    assert at[1, 0] == pytest.approx(0.56)


def test_page_from_what_is_there(folder):
    page = render(board_of(folder), {"ranks": "figures/x.png"})
    assert "The page rests on 16 of 24 runs" in page and "**Not everything has run**" in page
    (row,) = [line for line in page.split("## `narrow`")[1].split("## `wide`")[0].splitlines() if "`pods`" in line]
    assert row.startswith("| `pods` | 2 | 0.565 [0.560, 0.570] | -4.0 [-4.0, -4.0] | 3.0 [3.0, 3.0] |")
    assert "| `vigor` | 0 | failed: ValueError: a \\| b line |" in page
    assert "## What did not run\n\n- `vigor`: 4 runs: ValueError: a \\| b line\n\n" in page
    assert "**`wide`**: 60% of the groups of `grpo` carry no signal" in page
    assert "![Mean rank of every recipe](figures/x.png)" in page
    assert "nan" not in page and "None" not in page


def test_page_of_a_leaderboard_that_has_just_begun(tmp_path):
    (tmp_path / "plan.json").write_text(json.dumps(PLAN.as_dict()))
    page = render(read_board(tmp_path), {})
    assert "The page rests on 0 of 24 runs" in page and "not tuned yet" in page and "nan" not in page


def test_files_are_written_and_hold_the_same_numbers(folder, tmp_path):
    pytest.importorskip("matplotlib")
    publish(folder, tmp_path / "docs" / "leaderboard.md", tmp_path / "leaderboard.json", {"cores": 2})
    found = json.loads((tmp_path / "leaderboard.json").read_text())
    assert found["environment"] == {"cores": 2}
    assert found["recipes"][2]["tasks"]["narrow"]["gain"]["value"] == pytest.approx(0.04)
    assert found["recipes"][2]["mean_rank"]["value"] == 1 and found["recipes"][3]["mean_rank"]["value"] is None
    for name in ("ranks", "explained"):
        assert (tmp_path / "docs" / "figures" / f"leaderboard-{name}.png").stat().st_size > 1000


def test_json_has_no_number_that_is_none(folder):
    json.dumps(as_dict(board_of(folder)), allow_nan=False)


def test_a_folder_without_a_plan_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"plan\.json"):
        read_board(tmp_path)


def test_rank_correlation():
    x = np.array([1.0, 2, 3, 4, 5, 6, np.nan])
    assert findings.correlation(x, np.array([2.0, 4, 6, 8, 10, 99, 0])).value == pytest.approx(1)
    assert findings.correlation(x, -x).value == pytest.approx(-1)
    assert findings.correlation(x, -x).seeds == 6
    assert np.isnan(findings.correlation(x, np.ones(7)).value)
    # By hand: squared rank differences 1 + 1 + 0 = 2, so 1 - 6 * 2 / (3 * 8).
    assert findings.correlation(np.array([1.0, 2, 3]), np.array([2.0, 1, 3])).value == pytest.approx(0.5)


def test_explanation_names_the_families_by_regime(folder):
    told = " ".join(findings.sentences(board_of(folder)))
    assert "With 20% of groups without signal (`narrow`) the best family is *advantage or loss* (+4.0 points" in told
    assert "*selection* (-4.0, 1 recipe)" in told
    assert "the noise scale of its gradient at the start is 8.0 steps" in told
    assert "ρ" not in told, "three recipes are too few for a correlation"
