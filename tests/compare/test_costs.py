import numpy as np
import pytest

from winnow.compare.costs import REGIMES, cost_model
from winnow.errors import ConfigError

STEPS = [
    {"step": 0, "eval/accuracy": 0.1, "total/seconds": 0.0},
    {"step": 1, "prompts": 1, "rollouts": 64, "rows": 16, "total/seconds": 3.0},
    {"step": 2, "prompts": 2, "rollouts": 32, "rows": 0, "total/seconds": 7.5},
]


def test_measured_seconds_are_those_of_the_run():
    assert cost_model("measured").cumulative(STEPS).tolist() == [0.0, 3.0, 7.5]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("pods", 4.41 + 0.0584 * 64 + 0.1227 * 16, 2 * 4.41 + 0.0584 * 32),
        ("pods-step", 4.41 + 0.0584 * 64 + 0.1227 * 16, 4.41 + 0.0584 * 32),
        ("update-bound", 4.41 + 0.0584 * 64 + 5 * 0.1227 * 16, 2 * 4.41 + 0.0584 * 32),
        ("1, 2, 3", 1 + 128 + 48, 2 + 64),
    ],
)
def test_seconds_are_recomputed_from_the_counts(name, first, second):
    assert cost_model(name).cumulative(STEPS) == pytest.approx([0.0, first, first + second])


def test_the_fit_gives_the_published_seconds_per_step():
    step = [{"prompts": 1, "rollouts": 64, "rows": 16}]
    assert REGIMES["pods"].cumulative(step)[0] == pytest.approx(10.12, abs=0.36)
    step = [{"prompts": 1, "rollouts": 16, "rows": 16}]
    assert REGIMES["pods"].cumulative(step)[0] == pytest.approx(7.56, abs=0.36)


def test_a_count_that_was_not_logged_is_not_free():
    assert np.isnan(cost_model("pods").cumulative([{"prompts": 1, "rollouts": 8}])[0])


@pytest.mark.parametrize("text", ["pod", "1,2", "1,2,x", "1,-2,3", "1,2,inf", ""])
def test_other_prices_are_refused(text):
    with pytest.raises(ConfigError):
        cost_model(text)
