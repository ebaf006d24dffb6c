import numpy as np
import pytest

import winnow
from winnow.replay.advise import Option
from winnow.replay.estimate import Estimate, Figure
from winnow.replay.verdict import verdict


def option(name, n, value, breadth, error=0.01, base=False):
    rng = np.random.default_rng(0)
    spread = np.stack([error * value * rng.standard_normal(20), np.zeros(20), np.zeros(20)], axis=1)
    made = {"per_1000": value, "groups_per_1000": breadth, "no_signal": 0.4}
    figures = {name: Figure(each, each, each, each, each) for name, each in made.items()}
    return Option(winnow.recipe(name, n=n), 512 // n, n, None, Estimate(figures, spread, 1.0, 10), base)


BASE = option("grpo", 8, 100.0, 50.0, base=True)


@pytest.mark.parametrize(
    ("others", "answer", "best"),
    [
        ([], "no", "grpo"),
        ([option("vigor", 8, 105.0, 60.0)], "no", "vigor"),
        ([option("vigor", 8, 130.0, 20.0)], "perhaps", "vigor"),
        ([option("vigor", 8, 130.0, 20.0), option("dapo", 8, 115.0, 49.0)], "yes", "dapo"),
        ([option("vigor", 8, 130.0, 60.0)], "yes", "vigor"),
    ],
)
def test_a_gain_has_to_be_large_sure_and_not_bought_with_breadth(others, answer, best):
    said = verdict([BASE, *others], "per_1000", 3)
    assert said["answer"] == answer and said["best"]["recipe"] == best
    assert said["text"].lower().startswith(answer)


def test_the_best_of_many_has_to_be_surer():
    shaky = option("vigor", 8, 112.0, 60.0, error=0.05)
    shaky.found.spread[:, 0] = np.linspace(-6, 6, 20)
    assert verdict([BASE, shaky], "per_1000", 2)["answer"] == "yes"
    unsure = verdict([BASE, shaky], "per_1000", 500)
    assert unsure["answer"] == "undecided" and "widened for the 500 options tried" in unsure["text"]


def test_an_interval_that_reaches_a_gain_is_no_no():
    for value in (96.0, 109.0, 132.0):
        wide = option("vigor", 8, value, 60.0)
        wide.found.spread[:, 0] = np.linspace(-30, 30, 20)
        said = verdict([BASE, wide], "per_1000", 40)
        assert said["answer"] == "undecided" and said["best"]["ratio"]["high"] > 1.1
        assert "cannot tell" in said["text"] and "prompts in the log would decide" in said["text"]
    narrow = option("vigor", 8, 96.0, 60.0)
    assert verdict([BASE, narrow], "per_1000", 40)["answer"] == "no"


def test_without_grpo_there_is_nothing_to_compare_with():
    assert verdict([option("vigor", 8, 130.0, 60.0)], "per_1000", 1) is None
