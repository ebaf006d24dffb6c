import functools

import numpy as np
import pytest

from winnow.errors import ConfigError
from winnow.selection.packing import pack_groups


def plain(sizes, budget):
    """First-fit decreasing, bin by bin."""
    bins = []
    for place in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        home = next((b for b in bins if sum(sizes[i] for i in b) + sizes[place] <= budget), None)
        if home is None or sizes[place] > budget:
            bins.append([place])
        else:
            home.append(place)
    return [sorted(b) for b in bins]


def fewest(sizes, budget):
    """The least number of bins, over all subsets."""
    full = (1 << len(sizes)) - 1
    fits = [mask for mask in range(1, full + 1) if sum(s for i, s in enumerate(sizes) if mask >> i & 1) <= budget]

    @functools.cache
    def best(left):
        if not left:
            return 0
        low = left & -left
        return 1 + min(best(left & ~mask) for mask in fits if mask & low and mask & left == mask)

    return best(full)


@pytest.mark.parametrize("seed", range(30))
def test_a_window_over_everything_is_first_fit_decreasing(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, rng.integers(1, 9)).tolist()
    found = [b.tolist() for b in pack_groups(sizes, 30)]
    assert found == plain(sizes, 30)
    assert len(found) <= 11 / 9 * fewest(sizes, 30) + 6 / 9


@pytest.mark.parametrize("window", [1, 2, 5, None])
@pytest.mark.parametrize("seed", range(10))
def test_every_group_once_whole_and_within_the_budget(window, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 60, 40)
    bins = pack_groups(sizes, 50, window)
    assert sorted(np.concatenate(bins).tolist()) == list(range(40))
    for b in bins:
        assert sizes[b].sum() <= 50 or len(b) == 1
        assert (np.diff(b) > 0).all()
    waiting = list(range(40))  # a bin takes only from the next `window` groups that wait
    for b in bins:
        assert set(b.tolist()) <= set(waiting[: window or 40])
        waiting = [place for place in waiting if place not in b]


def test_a_window_of_one_keeps_the_order_and_a_larger_one_fills_better():
    sizes = [6, 5, 4, 5, 4, 6]
    assert [b.tolist() for b in pack_groups(sizes, 10, 1)] == [[place] for place in range(6)]
    assert [b.tolist() for b in pack_groups(sizes, 10)] == [[0, 2], [4, 5], [1, 3]]


def test_a_group_beyond_the_budget_has_a_bin_of_its_own():
    assert [b.tolist() for b in pack_groups([3, 99, 3], 10)] == [[1], [0, 2]]
    assert pack_groups([], 10) == []


def test_numbers_out_of_range_are_refused():
    for wrong in (([1], 0, None), ([1], 5, 0), ([-1], 5, None), ([0.5], 5, None), ([[1]], 5, None)):
        with pytest.raises(ConfigError):
            pack_groups(*wrong)
