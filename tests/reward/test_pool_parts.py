"""The parts of the pool that can be looked at without processes."""

import random
from types import SimpleNamespace

import pytest

from winnow.reward import Item
from winnow.reward.pool import limits
from winnow.reward.pool.clock import Clock
from winnow.reward.pool.protocol import Inbox, Said, Work, framed, said
from winnow.reward.pool.schedule import AHEAD_S, FIRST, MOST, Pace, Queue
from winnow.reward.pool.shift import Shift
from winnow.rollout import Prompt


def paced(seconds):
    pace = Pace()
    pace.observe(seconds)
    return pace


def test_first_items_are_few_and_short_ones_travel_together():
    assert len(Queue(1000, Pace()).take(0, 2)) == FIRST
    assert len(Queue(100_000, paced(1e-6)).take(0, 2)) == MOST
    assert len(Queue(1000, paced(0.001)).take(0, 2)) == AHEAD_S / 0.001
    assert len(Queue(1000, paced(60.0)).take(0, 2)) == 1


def test_a_worker_gets_more_only_when_it_has_little():
    queue = Queue(1000, paced(AHEAD_S / 10))
    assert queue.take(0, 2) == list(range(10))
    assert queue.take(6, 2) == []
    assert queue.take(5, 2) == list(range(10, 15))


def test_the_last_items_are_shared():
    queue = Queue(8, paced(1e-6))
    assert [len(queue.take(0, 2)) for _ in range(7)] == [2, 2, 1, 1, 1, 1, 0]


def test_items_given_back_come_first_and_in_order():
    queue = Queue(10, paced(1.0))
    taken = [queue.take(0, 2)[0] for _ in range(4)]
    queue.give_back([taken[3], taken[1]])
    assert list(queue.waiting) == [1, 3, 4, 5, 6, 7, 8, 9]


def test_items_that_must_be_alone_get_no_company():
    queue = Queue(6, paced(1e-6))
    assert queue.take(0, 1, 4, {2, 3}) == [0, 1]
    assert queue.take(1, 1, 4, {2, 3}) == []
    assert [queue.take(0, 1, 4, {2, 3}) for _ in range(3)] == [[2], [3], [4, 5]]


def test_a_verdict_that_took_too_long_counts_as_late_however_late_it_is_read():
    received = []
    items = [Item(Prompt("a", "q"), "x")] * 2
    shift = Shift(items, (), 1.0, Pace(), lambda *what: received.append(what[:2]))
    hand = SimpleNamespace(answered=[0, 1].__getitem__)
    for number, seconds in enumerate((0.9, 1.1)):
        shift._answer(hand, Said("verdict", number, seconds), {})
    assert received == [(0, "verdict"), (1, "timeout")]


def test_clock_is_shared_with_whoever_maps_it():
    ours = Clock.create(1)
    theirs = Clock(ours.handle)
    assert ours.latest() == -1 and ours.running() is None
    theirs.begin(7)
    assert ours.latest() == 7 and 0 <= ours.running() < 60
    theirs.end()
    assert ours.latest() == 7 and ours.running() is None
    ours.take_back(8, 10)
    assert [theirs.skips(number) for number in (7, 8, 9, 10)] == [False, True, True, False]
    ours.release()


def test_frames_arrive_in_any_pieces():
    rng = random.Random(0)
    frames = [bytes(rng.randrange(256) for _ in range(rng.randrange(50))) for _ in range(40)]
    stream = b"".join(map(framed, frames))
    inbox, found = Inbox(50), []
    while stream:
        size = rng.randrange(1, 20)
        found += inbox.feed(stream[:size])
        stream = stream[size:]
    assert found == frames


def test_a_length_beyond_reason_is_refused_before_its_content():
    with pytest.raises(ValueError, match="a frame of 4294967295 bytes, more than 1000"):
        list(Inbox(1000).feed(b"\xff\xff\xff\xff"))


@pytest.mark.parametrize("payload", [b"", b"no", b"7", b"[7]", b'[["verdict", 1, 2, 3, 4]]', b"\xff"])
def test_nonsense_is_an_error_of_two_kinds_only(payload):
    with pytest.raises((ValueError, TypeError)):
        said(payload)


def test_words_and_work_survive_the_way():
    word = Said("verdict", 3, 0.1 + 0.2, {"score": -0.0, "outcome": None, "reason": "\ud800", "events": []})
    assert said(b"[" + word.encode() + b"]", 4) == [word]
    prompts = [Prompt("a", "text", None, {"x": [1]}), Prompt("b", [{"role": "user", "content": "q"}], "7")]
    items = [Item(prompts[i % 2], str(i), f"0/{i}") for i in range(5)]
    work = Work.decode(Work(9, items, ("x",), True).encode())
    assert (work.first, list(work.items), work.columns, work.compare) == (9, items, ("x",), True)
    assert work.items[0].prompt is work.items[2].prompt


def test_children_are_found_by_their_parent():
    import subprocess
    import sys

    if sys.platform != "linux":
        pytest.skip("reads /proc")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in limits.children()
        child.stdin.close()
    assert child.pid not in limits.children()
