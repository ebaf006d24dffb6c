import numpy as np
import pytest

import winnow
from winnow.candidates import identities
from winnow.errors import ConfigError
from winnow.memory import Memory
from winnow.recall.store import Store


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"allocation": 5}, "allocation=5"),
        ({"objective": "x"}, "objective='x'"),
        ({"curriculum": 3}, "curriculum=3"),
        ({"gate": None}, "gate=None"),
        ({"recall": "repo"}, "recall='repo'"),
        ({"clip_low": float("nan")}, "clip_low=nan"),
        ({"clip_low": "wide"}, "not possible"),
        ({"n": 10**9}, "1 to 1048576"),
    ],
)
def test_parts_and_settings_that_cannot_be_are_refused_by_name(changes, words):
    with pytest.raises(ConfigError, match=words):
        winnow.recipe("grpo", **changes)


def test_a_text_is_no_truth_value():
    with pytest.raises(ConfigError, match="use true or false"):
        winnow.recipe("vigor", barrier="False")
    with pytest.raises(ConfigError, match="keeps 1"):
        winnow.recipe("pods", m=0.01)
    with pytest.raises(ConfigError, match=r"strength=inf"):
        winnow.recipe("repo", strength=float("inf"))
    with pytest.raises(ConfigError, match=r"advantage opo needs lengths.*recall"):
        winnow.recipe("repo", advantage="opo")


def test_a_state_is_loaded_whole_or_not_at_all():
    recipe = winnow.recipe("mopps", recall=winnow.recall.Repo())
    before = recipe.state_dict()
    good = winnow.recipe("mopps", recall=winnow.recall.Repo())
    step = good.begin(4, ids=range(4))
    for prompt, count in step.ask():
        step.tell([prompt] * count, [1.0] * count)
    step.finish()
    broken = good.state_dict() | {"recall": {"next": 0}}
    with pytest.raises(ConfigError, match=r"state of recall.*damaged"):
        recipe.load_state_dict(broken)
    assert recipe.state_dict() == before
    for wrong in (None, {}, {"curriculum": 1}):
        with pytest.raises(ConfigError):
            recipe.load_state_dict(wrong)


@pytest.mark.parametrize(
    "state",
    [
        {"ids": [1, 2], "columns": {"a": [5.0]}},
        {"ids": [1, 1], "columns": {"a": [5.0, 6.0]}},
        {"ids": [1.5], "columns": {"a": [5.0]}},
        {"ids": [1], "columns": {"a": [float("nan")]}},
    ],
)
def test_a_memory_that_does_not_add_up_is_refused(state):
    with pytest.raises(ConfigError, match="checkpoint"):
        Memory(a=0.0).load_state_dict(state)


@pytest.mark.parametrize(
    "state",
    [
        {"next": 1, "kept": [[0, [5], [1.0]]]},
        {"next": 9, "kept": [[0, [5, 5], [1.0, 0.0]]]},
        {"next": 9, "kept": [[0, [5], [float("nan")]]]},
        {"next": 9, "kept": [[0, [5, 6], [1.0]]]},
    ],
)
def test_a_store_that_does_not_add_up_is_refused(state):
    with pytest.raises(ConfigError):
        Store().load_state_dict(state)


def test_ids_of_two_kinds_or_too_large_are_refused():
    with pytest.raises(ConfigError, match="mix texts and numbers"):
        identities([1, "a"])
    with pytest.raises(ConfigError, match="63 bits"):
        identities(np.array([2**63], np.uint64))


def test_a_step_refuses_what_it_cannot_count():
    step = winnow.recipe("trace").begin(2, ids=[0, 1])
    requests = [prompt for prompt, count in step.ask() for _ in range(count)]
    with pytest.raises(ConfigError, match="cuts rollouts by length"):
        step.tell(requests, [0.0] * len(requests))
    with pytest.raises(ValueError, match="must be a list"):
        winnow.recipe("grpo").begin(1).tell([[0], [0]], [1, 2])
    step = winnow.recipe("grpo").begin(1)
    with pytest.raises(ValueError, match="0 to"):
        step.tell([0] * step.ask().total, [0.0] * 8, tokens=[2**62] * 8)


def test_rules_of_users_are_held_to_their_contract():
    def broken(rewards, groups):
        return np.full(len(rewards), np.nan)

    for changes, words in (
        ({"advantage": broken}, "not finite"),
        ({"gate": lambda seen: np.ones(99, bool)}, "gate returns bool"),
        ({"gate": lambda seen: np.ones(len(seen), int)}, "gate returns bool"),
    ):
        step = winnow.recipe("grpo", **changes).begin(1)
        step.tell([0] * step.ask().total, [0.0, 1.0] * 4)
        with pytest.raises(ConfigError, match=words):
            step.finish()


def test_tiny_and_huge_differences_stay_in_the_range_of_floats():
    for tiny in (1e-170, 1e140):
        found = winnow.advantage.reinforce_pp([0.0, tiny], [0, 0])
        assert found == pytest.approx([-1.0, 1.0])
