"""Speed of the core, each figure a ratio to a numpy baseline measured in the same run.

    python benchmarks/core.py [--scale 1.0] [--out benchmarks/results/core.json]

Targets: selection over 1,000,000 groups of 64 at most 2.5x ``np.argsort(axis=1)`` with peak memory at most 5x the
input; ragged groups at most 3x ``np.lexsort``; at least 100x faster than a loop over groups; all VIGOR
decisions of a step over 1,000,000 prompts at most 3x one argsort of 1,000,000 floats per round.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from common import save, table
from winnow.allocation import Vigor
from winnow.observed import Observed
from winnow.selection import max_variance

Result = dict[str, float | str]


def ratio(ours: Callable[[], object], baseline: Callable[[], object], repeats: int) -> tuple[float, float, float]:
    """Return the median over repeats of ours/baseline, timed in turn, and the two median times in seconds."""
    pairs = []
    for _ in range(repeats):
        begin = time.perf_counter()
        baseline()
        middle = time.perf_counter()
        ours()
        pairs.append((time.perf_counter() - middle, middle - begin))
    return (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )


def entry(name: str, measured: tuple[float, float, float], target: str) -> Result:
    value, ours, baseline = measured
    return {"name": name, "ratio": value, "seconds": ours, "baseline_seconds": baseline, "target": target}


def loop_over_groups(rewards: np.ndarray, m: int) -> list[np.ndarray]:
    """The direct way: per group, sort, then try every split and recompute the variance, O(m^2) each."""
    kept = []
    for group in rewards:
        order = np.argsort(-group, kind="stable")
        best, rows = -1.0, order[:m]
        for top in range(m + 1):
            candidate = np.concatenate((order[:top], order[len(order) - m + top :]))
            variance = float(np.var(group[candidate]))
            if variance > best:
                best, rows = variance, candidate
        kept.append(rows)
    return kept


def rectangular(groups: int, repeats: int, kind: str) -> Result:
    rng = np.random.default_rng(0)
    rewards = rng.random((groups, 64))
    if kind == "binary":
        rewards = (rewards < rng.random((groups, 1))).astype(float)
    labels = np.repeat(np.arange(groups), 64)
    flat = rewards.ravel()
    measured = ratio(lambda: max_variance(flat, 16, labels), lambda: np.argsort(rewards, axis=1), repeats)
    target = "<= 2.5" if kind == "real" else ""
    return entry(f"max_variance, {groups:,} x 64, m=16, {kind} rewards / argsort(axis=1)", measured, target)


def ragged(total: int, repeats: int) -> Result:
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 129, total // 65)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rng.shuffle(labels)
    rewards = rng.random(len(labels))
    measured = ratio(lambda: max_variance(rewards, 16, labels), lambda: np.lexsort((rewards, labels)), repeats)
    return entry(f"max_variance, ragged 2..128, {len(labels):,} shuffled rows / lexsort", measured, "<= 3")


def against_loop(groups: int) -> Result:
    rewards = np.random.default_rng(0).random((groups, 64))
    labels = np.repeat(np.arange(groups), 64)
    measured = ratio(lambda: loop_over_groups(rewards, 16), lambda: max_variance(rewards.ravel(), 16, labels), 3)
    return entry(f"loop over {groups:,} groups / max_variance", measured, ">= 100")


def vigor(prompts: int, repeats: int) -> Result:
    rng = np.random.default_rng(0)
    floats = rng.random(prompts)

    def decide(timed: list[float]) -> None:
        seen = Observed(prompts)
        allocator = Vigor().begin(prompts, 8 * prompts, rng)
        left = 8 * prompts
        while not allocator.finished:
            begin = time.perf_counter()
            grant = allocator.next(seen, left)
            timed.append(time.perf_counter() - begin)
            left -= int(grant.counts.sum())
            seen.granted[grant.prompts] += grant.counts
            where = np.repeat(grant.prompts, grant.counts)
            seen.add(where, (rng.random(len(where)) < 0.3).astype(float))

    pairs = []
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(4):
            np.argsort(floats)
        baseline = time.perf_counter() - begin
        timed: list[float] = []
        decide(timed)
        pairs.append((sum(timed), baseline))
    measured = (
        statistics.median(a / b for a, b in pairs),
        statistics.median(a for a, _ in pairs),
        statistics.median(b for _, b in pairs),
    )
    return entry(f"VIGOR decisions, {prompts:,} prompts, 4 rounds / 4 argsorts", measured, "<= 3")


def memory(groups: int) -> Result:
    """Peak resident memory of a selection, in its own process, over the size of the rewards."""
    program = f"""
import resource, numpy as np
from winnow.selection import max_variance
rewards = np.random.default_rng(0).random(({groups}, 64))
labels = np.repeat(np.arange({groups}), 64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
max_variance(rewards.ravel(), 16, labels)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(1024 * after / rewards.nbytes, 1024 * (after - before) / rewards.nbytes)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    return {
        "name": f"peak memory of max_variance, {groups:,} x 64 / rewards (with rewards and labels)",
        "ratio": float(out[0]),
        "beside_inputs": float(out[1]),
        "target": "<= 5",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="1.0 is 1,000,000 groups")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--memory-only", action="store_true", help="measure peak memory and nothing else")
    parser.add_argument("--out", default="benchmarks/results/core.json")
    options = parser.parse_args()
    groups = max(2000, int(1_000_000 * options.scale))
    results = [memory(groups)]  # first, as a child's peak starts at what its parent holds
    if not options.memory_only:
        results += speed(groups, options.repeats)
    table(results)
    save(options.out, {"scale": options.scale, "results": results, "peak_mb": _peak_mb()})


def speed(groups: int, repeats: int) -> list[Result]:
    return [
        rectangular(groups, repeats, "real"),
        rectangular(groups, repeats, "binary"),
        ragged(64 * groups, min(3, repeats)),
        against_loop(2000),
        vigor(groups, repeats),
    ]


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
