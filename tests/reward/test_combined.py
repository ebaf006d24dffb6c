import pytest

from winnow import reward
from winnow.errors import ConfigError, RewardError
from winnow.reward import Combined, Exact, Item
from winnow.rollout import Prompt, Verdict


class Fixed:
    """Gives everything the same score."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def score(self, items):
        return [Verdict(self.value) for _ in items]


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


def test_a_sum_beyond_what_statistics_hold_is_refused_with_its_place():
    reward = Combined([Fixed("a", 1e149), Fixed("b", 1e149)], [10.0, 1.0])
    with pytest.raises(RewardError, match=r"a\+b is 1\.1e\+150 on prompt train:1, rollout .*lower the weights"):
        reward.score(items("x"))
    assert Combined([Fixed("a", 1e149)], [10.0]).score(items("x"))[0].score == pytest.approx(1e150)


def test_what_the_parts_say_about_time():
    quick, slow = Fixed("a", 1.0), Fixed("b", 1.0)
    slow.may_hang, slow.on_timeout = True, "zero"
    assert not Combined([quick]).may_hang and Combined([quick, slow]).may_hang
    assert Combined([slow]).on_timeout == "zero" and Combined([quick, slow]).on_timeout is None


def test_options_of_a_sum_go_to_the_terms_that_have_them(path):
    both = reward.load(f"{path}:length + exact", weights=[0.0, 1.0], extract="boxed", on_error="zero")
    assert both.rewards[1] == Exact("boxed")
    assert both.rewards[0]._guard.policy == "zero"
    with pytest.raises(ConfigError, match="did you mean 'extract'"):
        reward.load("exact+math", extrac="boxed")
