import itertools

import numpy as np
import pytest

from winnow.allocation.outlook import outlook
from winnow.effect import Noise, worth

PLAIN = {"noise": Noise(), "price": 0.0}


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


def group(a, b, right, wrong, toll=0.0):
    return worth(right, wrong, (b + wrong) / (a + b + right + wrong), Noise(), toll)


def test_effect_by_hand():
    # One right and one wrong: P = (1/4) / (1/4) + (1/4) / (1/2) = 3/2; of the failure rate 3/5.
    assert float(worth(1, 1, 0.8, Noise(0.25, 0.5), 0.0).effect) == pytest.approx(0.48)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.3, 0.5), (0.2, 4.0), (3.0, 0.5)])
@pytest.mark.parametrize("price", [0.0, 1.0, 8.0])
def test_index_is_the_best_expected_gain(a, b, price):
    most = 7
    table = outlook(a, b, noise=Noise(), price=price, most=most)
    for right, wrong in itertools.product(range(most), repeat=2):
        if right + wrong >= most:
            continue

        def value(r, w):
            found = group(a, b, r, w, price * table.rate)
            return float(found.effect - price * table.rate * found.rows)

        ratios = [
            (expected(a, b, right, wrong, m, value) - value(right, wrong)) / m
            for m in range(1, most - right - wrong + 1)
        ]
        best = max(0.0, *ratios)
        assert table.index[right, wrong] == pytest.approx(best, abs=1e-5)
        if best > 1e-9:
            assert ratios[table.size[right, wrong] - 1] == pytest.approx(best, abs=1e-5)


def test_no_room_no_index():
    table = outlook(1.0, 1.0, **PLAIN, most=4)
    full = np.add.outer(np.arange(5), np.arange(5)) >= 4
    assert not table.index[full].any()


@pytest.mark.parametrize("price", [0.0, 1.0, 6.0])
def test_the_rate_beats_every_fixed_size_and_is_what_its_policy_earns(price):
    """Going on where the index exceeds the rate earns the rate per cost, and no group of fixed size earns more."""
    a, b, most = 0.4, 0.6, 16
    table = outlook(a, b, noise=Noise(), price=price, most=most)

    def kept(r, w):
        return group(a, b, r, w, price * table.rate)

    def fixed(n):
        taught = expected(a, b, 0, 0, n, lambda r, w: float(kept(r, w).effect))
        return taught / (n + price * expected(a, b, 0, 0, n, lambda r, w: float(kept(r, w).rows)))

    assert table.rate >= max(map(fixed, range(2, 9))) - 1e-9
    first = int(table.size[0, 0])
    states = {(0, 0): 1.0}
    cost = taught = rows = 0.0
    while states:
        later = {}
        for (r, w), chance in states.items():
            if r + w >= first and table.index[r, w] <= table.rate:
                taught += chance * float(kept(r, w).effect)
                rows += chance * float(kept(r, w).rows)
                continue
            p = (a + r) / (a + b + r + w)
            cost += chance
            for state, share in (((r + 1, w), p), ((r, w + 1), 1 - p)):
                later[state] = later.get(state, 0.0) + chance * share
        states = later
    assert taught / (cost + price * rows) == pytest.approx(table.rate, rel=1e-3)
    assert table.rest[0, 0] == pytest.approx(cost - first, rel=1e-6)


def test_solved_prompts_close_and_hard_ones_are_searched():
    """After two successes an easy prompt is worth less than a new one; after two failures a middling one is not."""
    easy, middling = outlook(4.0, 0.5, **PLAIN, most=32), outlook(1.0, 1.0, **PLAIN, most=32)
    assert easy.index[2, 0] < middling.rate < middling.index[0, 2]
    assert middling.index[0, 20] < middling.rate
