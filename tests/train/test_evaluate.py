from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from winnow.errors import RewardError
from winnow.rollout import Prompt, Rollout, Verdict
from winnow.train.evaluate import evaluate, pass_at_k

CASES = {case["id"]: case for case in json.loads((Path(__file__).parents[1] / "cases/cases.json").read_text())}


def test_eval_01():
    case = CASES["EVAL-01"]
    n, c, ks = (case["input"][name] for name in "nck")
    found = [pass_at_k(n, c, k)[0] for k in ks]
    assert found == pytest.approx(case["expected"]["pass_at_k"])
    assert found[-1] != pytest.approx(case["expected"]["not_this_at_5"], abs=1e-3)


def test_pass_at_k_equals_enumeration():
    for n in range(1, 7):
        for c in range(n + 1):
            samples = [1] * c + [0] * (n - c)
            for k in range(1, n + 1):
                wins = [max(chosen) for chosen in combinations(samples, k)]
                assert pass_at_k(n, c, k)[0] == pytest.approx(np.mean(wins))


def test_pass_at_k_is_finite_for_large_n():
    assert pass_at_k(10_000, 1, 5000)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("k", [0, 5])
def test_k_outside_the_samples_is_refused(k):
    with pytest.raises(ValueError, match="n is 4"):
        pass_at_k([4, 8], [1, 1], k)


class Script:
    """A sampler whose completions are given."""

    def __init__(self, texts):
        self.texts = texts
        self.seeds = []

    def session(self, prompts, *, seed):
        self.seeds.append(seed)
        queue = []

        class Session:
            def submit(_, requests):
                queue.extend((p, d) for p, count in requests for d in range(count))

            def advance(_):
                # Out of order on purpose.
                found = [queue.pop()] if queue else []
                return [
                    Rollout(p, d, np.arange(2), np.zeros(2, np.float32), "stop", self.texts[p][d]) for p, d in found
                ]

        return Session()


class Digits:
    name = "digits"

    def score(self, items):
        return [
            Verdict(None, reason="no digit") if item.completion == "?" else Verdict(float(item.completion))
            for item in items
        ]


def run(texts, **changes):
    prompts = [Prompt(f"test:{i}", "p") for i in range(len(texts))]
    settings = {"samples": len(texts[0]), "seed": 0, "ks": [2], **changes}
    return evaluate(Script(texts), Digits(), prompts, [[1]] * len(texts), **settings)


def test_accuracy_is_the_mean_over_prompts_of_the_mean_over_samples():
    found = run([["1", "1", "1", "1"], ["1", "0", "0", "0"], ["0", "0", "0", "0"]])
    assert found.accuracy == pytest.approx((1 + 0.25 + 0) / 3)
    assert found.pass_at[2] == pytest.approx((1 + 0.5 + 0) / 3)
    assert (found.samples, found.unscorable) == (12, 0)


def test_unscorable_samples_are_left_out_and_counted():
    found = run([["1", "?", "0", "?"], ["?", "?", "?", "1"], ["?", "?", "?", "?"]])
    assert found.accuracy == pytest.approx((0.5 + 1.0) / 2)
    assert found.pass_at == {2: 1.0}  # only the first prompt has two scorable samples
    assert (found.samples, found.unscorable) == (3, 9)


def test_nothing_scorable_is_an_error_with_the_reason():
    with pytest.raises(RewardError, match="no digit"):
        run([["?", "?"]])


def test_graded_outcomes_count_in_part_and_pass_only_when_full():
    found = run([["0.5", "2", "0", "-1"]])
    assert found.accuracy == pytest.approx((0.5 + 1) / 4)
    assert found.pass_at[2] == pytest.approx(0.5)
