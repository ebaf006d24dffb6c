"""Ten thousand items of which a quarter does the worst it can."""

import os
import random
import time
from pathlib import Path

import pytest
from tests.reward.pool_tools import marked

from winnow.reward import Item
from winnow.reward.pool import Pool
from winnow.rollout import Prompt

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

REWARD = f"{Path(__file__).parent / 'pool_rewards.py'}:misbehave"
KINDS = {
    "hang": ["hang", "spin", "catch_all", "ignore_signals", "stop"],
    "allocate": ["allocate"],
    "fork": ["fork", "fork_twice", "fork_and_return", "start_program"],
    "leave": ["leave", "leave_well", "kill_self", "crash"],
    "fail": ["fail"],
}
WORKERS = 2


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def batch(count, seed):
    """Items with what each does: 5% of every kind, and the rest just score."""
    kinds = [kind for kind in KINDS for _ in range(count // 20)]
    kinds += ["fine"] * (count - len(kinds))
    rng = random.Random(seed)
    rng.shuffle(kinds)
    prompt = Prompt("train:1", "q", "7")
    items = []
    for index, kind in enumerate(kinds):
        what = f"{rng.choice(KINDS[kind])}:" if kind in KINDS else ""
        items.append(Item(prompt, f"{what}{index}", f"0/{index}"))
    return kinds, items


@pytest.mark.parametrize(
    ("count", "start", "timeout"),
    [
        (200, "fork", 0.25),
        pytest.param(100, "spawn", 0.5, marks=pytest.mark.slow),
        pytest.param(10_000, "fork", 0.5, marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
    ],
)
def test_a_quarter_of_the_items_misbehaves_and_the_rest_is_right(count, start, timeout, monkeypatch, caplog):
    monkeypatch.setenv("WINNOW_TORTURE", f"{os.getpid()}-{count}-{start}")
    kinds, items = batch(count, seed=7)
    calm = [item for kind, item in zip(kinds, items, strict=True) if kind != "hang"]
    with Pool(REWARD, WORKERS, timeout, memory_mb=64, start=start) as pool:
        begun = time.monotonic()
        pool.score(calm)
        others = time.monotonic() - begun
        before, files = resident(), descriptors()
        begun = time.monotonic()
        verdicts = pool.score(items)
        took = time.monotonic() - begun
        grown, more_files = resident() - before, descriptors() - files
        metrics = pool.metrics()
    left = marked(f"WINNOW_TORTURE={os.environ['WINNOW_TORTURE']}")
    # Under load an item may still be allocating when its time is over.
    reasons = {"hang": "timeout", "allocate": ("memory", "timeout"), "leave": "crash", "fail": "misbehave raised"}
    for index, (kind, verdict) in enumerate(zip(kinds, verdicts, strict=True)):
        if kind in reasons:
            assert verdict.score is None and verdict.reason.startswith(reasons[kind]), (items[index], verdict)
        else:
            assert verdict.score == float(index) and not verdict.reason, (items[index], verdict)
    bound = kinds.count("hang") * timeout / WORKERS + others
    print(f"{count} items: {took:.1f} s, bound {bound:.1f} s (others {others:.1f} s), {grown / 1e6:.1f} MB, {metrics}")
    assert not left
    assert grown < 50e6
    # A worker has a connection and a clock, and either measurement may find one just gone.
    assert more_files <= 2 * WORKERS
    # The bound knows nothing of what a fresh interpreter costs for each worker that replaces a killed one.
    assert start == "spawn" or took < 2 * bound
