import pytest

from winnow import reward
from winnow.errors import ConfigError
from winnow.reward import Combined, Exact, Item
from winnow.rollout import Prompt, Verdict

SOURCE = """
def length(completion):
    return len(completion) if completion else None

def broken(completion):
    raise ValueError
"""


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "c++"
    folder.mkdir()
    (folder / "r.py").write_text(SOURCE)
    return folder / "r.py"


def items(*completions):
    return [Item(Prompt("train:1", "q", "77"), text) for text in completions]


def test_scores_add_up_and_the_outcome_is_the_verifiers(path):
    both = reward.load(f"{path}:length + exact", weights=[0.5, 2])
    right, wrong, abstained = both.score(items("77", "8", ""))
    assert right == Verdict(3.0, 1.0, "", {"length": 2.0, "exact": 1.0})
    assert (wrong.score, wrong.outcome) == (0.5, 0.0)
    assert abstained.score is None and abstained.outcome == 0.0
    assert abstained.reason.startswith("length: ")
    assert both.name == "length+exact"


def test_equal_names_are_told_apart():
    [verdict] = Combined([Exact(), Exact("boxed")]).score(items("77"))
    assert verdict.parts == {"exact": 1.0, "exact#2": 0.0}


def test_counters_and_golds_pass_through(path):
    both = reward.load(f"exact+{path}:broken")
    verdicts = both.score(items("77"))
    assert verdicts[0].score is None and verdicts[0].outcome == 1.0
    assert both.metrics() == {"reward_errors": 1.0}
    assert both.needs_gold and not Combined([reward.load(f"{path}:length")]).needs_gold
    assert Combined([Exact("last_number")]).unreadable("x")


def test_bad_sums(path):
    with pytest.raises(ConfigError, match="expected 2, one per reward of exact\\+exact, got 1"):
        reward.load("exact+exact", weights=[1])
    with pytest.raises(ConfigError, match="did you mean 'weights'"):
        reward.load("exact+exact", weight=[1, 1])
    with pytest.raises(ConfigError, match="at least one"):
        Combined([])


def test_unknown_names():
    with pytest.raises(ConfigError, match=r"unknown reward 'exct', did you mean 'exact'\? \(allowed: exact, math"):
        reward.load("exct")
    with pytest.raises(ConfigError, match="unknown reward"):
        reward.load("exact+mth")
