"""Epochs without repeats, and a position that survives a checkpoint."""

import pytest

from winnow.curriculum import Epochs
from winnow.errors import ConfigError


def test_every_prompt_once_per_epoch_and_never_twice_in_a_step():
    curriculum = Epochs(10, seed=3)
    steps = [curriculum.next(4) for _ in range(25)]
    assert all(len(set(step)) == 4 for step in steps)
    drawn = [prompt for step in steps for prompt in step]
    for epoch in range(10):
        assert sorted(drawn[10 * epoch : 10 * epoch + 10]) == list(range(10))
    assert curriculum.epoch == 10


def test_the_edge_of_an_epoch_is_no_end():
    curriculum = Epochs(25 * 4, seed=0)
    for _ in range(25):
        curriculum.next(4)
    saved = curriculum.state_dict()
    other = Epochs(25 * 4, seed=0)
    other.load_state_dict(saved)
    assert [curriculum.next(4) for _ in range(25)] == [other.next(4) for _ in range(25)]


def test_a_resumed_curriculum_continues_with_the_next_prompts():
    straight = Epochs(40, seed=1)
    reference = [straight.next(8) for _ in range(12)]
    for cut in range(12):
        first = Epochs(40, seed=1)
        begun = [first.next(8) for _ in range(cut)]
        second = Epochs(40, seed=1)
        second.load_state_dict(first.state_dict())
        assert begun + [second.next(8) for _ in range(12 - cut)] == reference


def test_seeds_and_sizes():
    assert Epochs(50, 1).next(50) != Epochs(50, 2).next(50)
    with pytest.raises(ConfigError, match="9 prompts per step from 8"):
        Epochs(8, 0).next(9)
    with pytest.raises(ConfigError, match="saved for 8 prompts and seed 0"):
        Epochs(9, 0).load_state_dict(Epochs(8, 0).state_dict())
