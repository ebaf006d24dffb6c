"""What a pool does about code that attacks its clocks, its messages and its processes."""

import json
import os
import sys
import time
from pathlib import Path

import pytest
from tests.reward.pool_tools import items, marked, scores

from winnow.errors import RewardError
from winnow.reward.pool import Pool, shift

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for descriptors and processes in /proc")

REWARD = f"{Path(__file__).parent / 'pool_hostile.py'}:hostile"


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(shift, "SLACK_S", 0.3)
    with Pool(REWARD, timeout=0.3, max_error_rate=1.0) as made:
        yield made


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "what",
    [
        "write_everywhere",
        "clock_of_another_item",
        "clock_in_the_future",
        "clock_stopped",
        "clock_running",
        "clock_and_exit",
        "flood",
    ],
)
def test_b21_a_clock_that_lies_costs_one_verdict(pool, what):
    verdicts = pool.score(items("1", "2", f"{what}:3", "4", "5"))
    assert scores(verdicts) == [1.0, 2.0, None, 4.0, 5.0]
    expected = "crash: " if what == "clock_and_exit" else ("timeout: ", "crash: ")
    assert verdicts[2].reason.startswith(expected)


@pytest.mark.parametrize("what", ["clock_of_another_item", "clock_and_exit"])
def test_a_clock_that_lies_costs_its_neighbours_nothing(pool, what):
    assert scores(pool.score(items(*["1"] * 200))) == [1.0] * 200
    # Items are known to be short now, so the verdicts of neighbours are still on their way.
    verdicts = pool.score(items(*["1"] * 20, f"{what}:2", *["3"] * 20))
    assert scores(verdicts) == [1.0] * 20 + [None] + [3.0] * 20


def test_the_clock_cannot_be_cut_off_under_the_parent(pool):
    assert scores(pool.score(items("1", "truncate:2", "3"))) == [1.0, 2.0, 3.0]


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "word",
    [
        ["memory", 77, 0.0, {}],
        ["memory", -1, 0.0, {}],
        ["unfit", -1, 0.0, {}],
        ["broken", -1, 0.0, []],
        ["broken", -1, 0.0, {"message": {"a": 1}}],
        ["compared", -1, 0.0, None],
        ["verdict", 0, 0.0, None],
        ["verdict", 0, 0.0, {"score": "1", "outcome": None, "reason": "", "events": []}],
        ["verdict", 0, 0.0, {"score": 1, "outcome": None, "reason": "", "events": [["a", "b", "c", "d"]]}],
        ["verdict", 0, float("nan"), {"score": 1, "outcome": None, "reason": "", "events": []}],
        ["raised", 0, 0.0, {"type": "difflib", "message": ""}],
        ["unheard of", 0, 0.0, {}],
    ],
    ids=lambda word: f"{word[0]} {word[1:]}"[:40],
)
def test_a_forged_message_costs_one_verdict(pool, word):
    [verdict] = pool.score(items(f"{json.dumps([word])}:1"))
    assert verdict.score is None and verdict.reason.startswith(("crash: ", "memory: "))
    assert scores(pool.score(items("2", "3"))) == [2.0, 3.0]


def test_a_message_nested_without_end_costs_one_verdict(pool):
    assert scores(pool.score(items("1", "[" * 100_000 + ":2", "3"))) == [1.0, None, 3.0]


@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_what_outlives_the_nursery_is_ended(start, monkeypatch):
    monkeypatch.setenv("WINNOW_TEST", f"{os.getpid()}-{time.monotonic_ns()}")
    with Pool(REWARD, timeout=30, max_error_rate=1.0, start=start) as pool:
        verdicts = pool.score(items("1", "orphan_and_kill_the_nursery:2", "3"))
        assert scores(verdicts) == [1.0, None, 3.0]
    assert not marked(f"WINNOW_TEST={os.environ['WINNOW_TEST']}")


def test_an_error_is_as_long_as_people_read(pool):
    with pytest.raises(
        RewardError, match=r"SystemExit: x+\.\.\. \(\d+ characters left out\) \.\.\.x+ on prompt"
    ) as caught:
        pool.score(items("1", "leave_at_length:2"))
    assert len(str(caught.value)) <= 500
