import json

import pytest

from winnow.errors import ConfigError, DataError
from winnow.replay import find_cost


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_phases_are_ratios_of_sums(tmp_path):
    write(tmp_path / "metrics.jsonl", [
        {"step": 0, "eval/accuracy": 0.1},
        {"step": 1, "rollouts": 100, "rows": 20, "seconds/generate": 4.0, "seconds/score": 1.0, "seconds/update": 2.0,
         "seconds/step": 8.0},
        {"step": 2, "rollouts": 300, "rows": 80, "seconds/generate": 14.0, "seconds/score": 1.0, "seconds/update": 8.0,
         "seconds/step": 24.0},
    ])  # fmt: skip
    found = find_cost(None, [tmp_path])
    assert (found.per_rollout, found.per_row, found.per_step) == pytest.approx((20 / 400, 10 / 100, 1.0))
    assert find_cost(str(tmp_path), []).per_row == pytest.approx(0.1)
    assert find_cost(None, [tmp_path / "rollouts.jsonl"]) is None


def test_verl_metrics_under_data(tmp_path):
    path = write(tmp_path / "m.jsonl", [
        {"step": 1, "data": {"rollouts": 10, "rows": 10, "timing_s/gen": 1.0, "timing_s/update_actor": 3.0}}
    ])  # fmt: skip
    found = find_cost(str(path), [])
    assert (found.per_rollout, found.per_row, found.per_step) == pytest.approx((0.1, 0.3, 0.0))


def test_whole_steps_take_least_squares_and_need_different_sizes(tmp_path):
    sizes = [(8, 8), (16, 8), (32, 16), (64, 8)]
    rows = [{"rollouts": n, "rows": m, "seconds": 2 + 0.5 * n + 0.25 * m} for n, m in sizes]
    found = find_cost(str(write(tmp_path / "a.jsonl", rows)), [])
    assert (found.per_step, found.per_rollout, found.per_row) == pytest.approx((2, 0.5, 0.25))
    with pytest.raises(DataError, match="tell generation and update apart"):
        find_cost(str(write(tmp_path / "b.jsonl", [rows[0]] * 5)), [])
    with pytest.raises(DataError, match="no step with timings"):
        find_cost(str(write(tmp_path / "c.jsonl", [{"loss": 1.0}])), [])


def test_coefficients_and_regimes_are_those_of_compare():
    assert find_cost("1,2,3", []).per_row == 3 and find_cost("pods", []).name == "pods"
    with pytest.raises(ConfigError, match="no clock of its own"):
        find_cost("measured", [])
    with pytest.raises(ConfigError, match="unknown cost regime"):
        find_cost("pod", [])
    assert find_cost(None, []) is None
