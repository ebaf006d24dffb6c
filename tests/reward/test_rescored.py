"""A reward that does not say the same twice is found on the first batch: case RWD-10."""

import json
from pathlib import Path

from winnow.reward import Item
from winnow.reward.rescored import Rescored
from winnow.rollout import Prompt, Verdict

CASE = next(
    case for case in json.loads((Path(__file__).parents[1] / "cases/cases.json").read_text()) if case["id"] == "RWD-10"
)


class Scripted:
    """Returns the next list of scores at every call."""

    name = "judge"

    def __init__(self, *calls):
        self.calls = list(calls)
        self.errors = 0.0

    def score(self, items):
        self.errors += 1
        return [Verdict(score, score) for score in self.calls.pop(0)]

    def metrics(self):
        return {"reward_errors": self.errors}


def items(count):
    return [Item(Prompt(f"train:{index}", "?"), "text", f"1/train:{index}/0") for index in range(count)]


def test_rwd_10():
    first, second = CASE["input"]["same_input_scored_twice"]
    notes = []
    reward = Rescored(Scripted([0.5, first], [0.5, second], [first], [first]), notes.append)
    assert [verdict.score for verdict in reward.score(items(2))] == [0.5, first]
    assert len(notes) == 1
    for word in (CASE["expected"]["warning"], "1 of the 2", "judge", "train:1", "1/train:1/0", str(first), str(second)):
        assert word in notes[0]
    reward.score(items(1))
    reward.score(items(1))
    assert len(notes) == 1


def test_a_deterministic_reward_is_scored_twice_once_and_counted_once():
    notes = []
    inner = Scripted([1.0, None], [1.0, None], [0.0])
    reward = Rescored(inner, notes.append)
    reward.score(items(2))
    assert reward.metrics() == {"reward_errors": 1.0}
    reward.score(items(1))
    assert reward.metrics() == {"reward_errors": 2.0}
    assert notes == [] and inner.calls == []


def test_unscorable_once_is_a_difference():
    notes = []
    Rescored(Scripted([1.0], [None]), notes.append).score(items(1))
    assert "1, then unscorable" in notes[0]
