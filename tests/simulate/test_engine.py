import numpy as np
import pytest

from winnow.errors import ConfigError
from winnow.simulate import Lengths
from winnow.simulate.engine import Slots


def submit(slots, lengths):
    slots.submit(np.arange(len(lengths)), np.zeros(len(lengths)), np.array(lengths))


def test_slots_take_what_waits_as_soon_as_they_are_free():
    slots = Slots(2)
    submit(slots, [5, 1, 2, 3])
    assert slots.free == 0
    ended = []
    while True:
        prompts, _, _ = slots.advance(False)
        if not len(prompts):
            break
        ended.append((slots.now, prompts.tolist()))
    assert ended == [(1, [1]), (3, [2]), (5, [0]), (6, [3])] or ended == [(1, [1]), (3, [2]), (5, [0]), (6, [3])]
    assert slots.busy == 11 and slots.idle == pytest.approx(1 / 12) and slots.free == 2


def test_everything_waits_for_the_slowest():
    slots = Slots(4)
    submit(slots, [10, 1, 1, 1])
    assert sorted(slots.advance(True)[0].tolist()) == [0, 1, 2, 3]
    assert slots.now == 10 and slots.idle == pytest.approx(27 / 40)


def test_what_ends_together_is_told_together():
    slots = Slots(3)
    submit(slots, [4, 4, 9])
    assert slots.advance(False)[2].tolist() == [4, 4]


def test_lengths_have_their_mean_and_their_cut():
    rng = np.random.default_rng(0)
    assert Lengths(200, 1.0, 10**9).draw(200_000, rng).mean() == pytest.approx(200, rel=0.02)
    cut = Lengths(200, 2.0, 300).draw(1000, rng)
    assert cut.max() == 300 and cut.min() >= 1
    assert set(Lengths(7, 0.0, 100).draw(10, rng).tolist()) == {7}


@pytest.mark.parametrize("wrong", [{"mean": 0}, {"tail": 9}, {"longest": 0}])
def test_bad_lengths(wrong):
    with pytest.raises(ConfigError):
        Lengths(**wrong)
