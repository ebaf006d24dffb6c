import itertools

import numpy as np
import pytest

from winnow.allocation.outlook import outlook
from winnow.effect import effect

PLAIN = {"noise": 0.67, "price": 0.0}


def expected(a, b, right, wrong, further, value):
    """Mean of a value over all outcomes of further rollouts, one by one."""
    total = 0.0
    for outcomes in itertools.product((0, 1), repeat=further):
        chance, r, w = 1.0, right, wrong
        for passed in outcomes:
            p = (a + r) / (a + b + r + w)
            chance, r, w = chance * (p if passed else 1 - p), r + passed, w + 1 - passed
        total += chance * value(r, w)
    return total


def test_effect_by_hand():
    # One right and one wrong: I = 1/2; at noise 1/2 half of the failure rate.
    assert effect(1, 1, 0.8, 0.5) == pytest.approx(0.4)
    assert effect([0, 3], [3, 0], 0.5, 1.0).tolist() == [0.0, 0.0]
    assert effect(2, 6, 0.75, 1.5) == pytest.approx(0.75 / 2)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 0.5), (0.2, 4.0), (3.0, 0.5)])
@pytest.mark.parametrize("price", [0.0, 1.0, 8.0])
def test_index_is_the_best_expected_gain_per_cost(a, b, price):
    most = 7
    table = outlook(a, b, noise=0.67, price=price, most=most)
    for right, wrong in itertools.product(range(most), repeat=2):
        if right + wrong >= most:
            continue

        def value(r, w):
            return float(effect(r, w, (b + w) / (a + b + r + w), 0.67))

        ratios = []
        for m in range(1, most - right - wrong + 1):
            gain = expected(a, b, right, wrong, m, value) - value(right, wrong)
            rows = expected(a, b, right, wrong, m, lambda r, w: 2 * min(r, w)) - 2 * min(right, wrong)
            ratios.append(gain / (m + price * max(rows, 0.0)))
        best = max(0.0, *ratios)
        assert table.index[right, wrong] == pytest.approx(best, abs=1e-9)
        if best > 1e-9:
            assert ratios[table.size[right, wrong] - 1] == pytest.approx(best, abs=1e-9)


def test_no_room_no_index():
    table = outlook(1.0, 1.0, **PLAIN, most=4)
    full = np.add.outer(np.arange(5), np.arange(5)) >= 4
    assert not table.index[full].any()


def test_the_rate_beats_every_fixed_size_and_is_what_its_policy_earns():
    """Going on where the index exceeds the rate earns the rate, and no group of fixed size earns more."""
    a, b, most = 0.4, 0.6, 16
    table = outlook(a, b, **PLAIN, most=most)

    def value(r, w):
        return float(effect(r, w, (b + w) / (a + b + r + w), 0.67))

    assert table.rate >= max(expected(a, b, 0, 0, n, value) / n for n in range(2, 9)) - 1e-9
    first = int(table.size[0, 0])
    cost = taught = 0.0
    states = {(r, first - r): 0.0 for r in range(first + 1)}
    for outcomes in itertools.product((0, 1), repeat=first):
        chance, r, w = 1.0, 0, 0
        for passed in outcomes:
            p = (a + r) / (a + b + r + w)
            chance, r, w = chance * (p if passed else 1 - p), r + passed, w + 1 - passed
        states[r, w] += chance
    cost += first
    while states:
        later = {}
        for (r, w), chance in states.items():
            if table.index[r, w] <= table.rate:
                taught += chance * value(r, w)
                continue
            p = (a + r) / (a + b + r + w)
            cost += chance
            for state, share in (((r + 1, w), p), ((r, w + 1), 1 - p)):
                later[state] = later.get(state, 0.0) + chance * share
        states = later
    assert taught / cost == pytest.approx(table.rate, rel=1e-3)
    assert table.rest[0, 0] == pytest.approx(cost - first, rel=1e-6)


def test_solved_prompts_close_and_hard_ones_are_searched():
    """After two successes an easy prompt is worth less than a new one; after two failures a middling one is not."""
    easy, middling = outlook(4.0, 0.5, **PLAIN, most=32), outlook(1.0, 1.0, **PLAIN, most=32)
    assert easy.index[2, 0] < middling.rate < middling.index[0, 2]
    assert middling.index[0, 20] < middling.rate
