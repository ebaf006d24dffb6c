import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from winnow.budget import Ledger
from winnow.replay.measure import COUNTED, count, figures


def batch(counts, owner, advantages, ledger=None):
    rows = np.arange(len(owner))
    return SimpleNamespace(
        ledger=ledger or Ledger(groups=len(counts), rollouts=int(sum(counts))), counts=np.array(counts), rows=rows,
        prompts=np.array(owner), advantages=np.array(advantages, float), weights=np.ones(len(rows)),
        visited=len(counts), kept_rows=len(rows),
    )  # fmt: skip


def counted(spread, counts):
    owner = np.repeat(np.arange(len(counts)), counts)
    sums = count(
        batch(counts, owner, np.zeros(len(owner))), owner, np.zeros(len(owner)), np.array(spread), np.sqrt(spread), 0
    )
    return dict(zip(COUNTED, sums, strict=True)), sums


@pytest.mark.parametrize(("n", "drgrpo", "rloo"), [(2, 0.21, 0.84), (4, 0.1575, 0.28), (8, 0.091875, 0.12)])
def test_q3_estimator_variances_at_a_pass_rate_of_three_tenths(n, drgrpo, rloo):
    of, _ = counted([4 * 0.3 * 0.7], [n])
    assert of["drgrpo"] == pytest.approx(drgrpo) and of["rloo"] == pytest.approx(rloo)


def test_groups_of_one_and_unknown_spread_are_in_no_mean():
    of, sums = counted([0.5, 0.84, np.nan], [1, 4, 4])
    assert of["judged_groups"] == 1 and of["judged_rollouts"] == 4
    assert figures(sums)["rloo"] == pytest.approx(0.28)


def test_bound_and_eta_weigh_prompts_by_their_rollouts():
    _, sums = counted([1.0, 0.25], [6, 2])
    found = figures(sums)
    assert found["bound"] == pytest.approx((6 * 1 + 2 * 0.5) / 8)
    assert found["eta"] == pytest.approx(((6 + 0.5) / 8) / (1.25 / 2))


@pytest.mark.parametrize(("n", "p"), [(2, 0.5), (4, 0.3), (6, 0.9)])
def test_effective_rows_are_n_less_one_times_the_spread_by_enumeration(n, p):
    total = 0.0
    for outcome in itertools.product((0.0, 1.0), repeat=n):
        owner = np.zeros(n, int)
        sums = count(batch([n], owner, np.zeros(n)), owner, np.array(outcome), np.ones(1), np.ones(1), 0)
        total += p ** sum(outcome) * (1 - p) ** (n - sum(outcome)) * sums[COUNTED.index("contrast")]
    assert total == pytest.approx((n - 1) * 4 * p * (1 - p))


def test_effective_rows_of_a_balanced_batch_are_its_rows():
    owner = np.zeros(8, int)
    sums = count(batch([8], owner, np.ones(8)), owner, np.repeat([0.0, 1.0], 4), np.ones(1), np.ones(1), 0)
    assert sums[COUNTED.index("contrast")] == 8 and sums[COUNTED.index("advantage")] == 8
