"""Speed and memory of a replay, as ratios taken in one run.

    python benchmarks/replay.py [--prompts 1000000] [--rollouts 16] [--out benchmarks/results/replay.json]

Targets: one pass of one recipe over 1,000,000 prompts x 16 rollouts in under 60x one ``np.argsort`` of as many rewards;
peak memory of building the log and replaying it under 6x the columns of the log.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import winnow
from common import save, table
from winnow.replay import Log
from winnow.replay.play import Table, play
from winnow.replay.stream import Shape, as_logged

RECIPES = ("grpo", "vigor", "pods", "dapo")
PROMPTS_PER_STEP = 1024


def columns(prompts: int, rollouts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return prompt, reward and tokens of an imaginary log: pass rates from Beta(0.5, 0.8), lengths lognormal."""
    rng = np.random.default_rng(0)
    rates = rng.beta(0.5, 0.8, prompts)
    rewards = np.empty(prompts * rollouts)
    for draw in range(rollouts):
        rewards[draw::rollouts] = rng.random(prompts) < rates
    tokens = np.empty(prompts * rollouts, np.int64)
    for draw in range(rollouts):
        tokens[draw::rollouts] = 1 + rng.lognormal(5, 1, prompts).astype(np.int64)
    return np.repeat(np.arange(prompts), rollouts), rewards, tokens


def timed(recipe: str, table: Table, argsort_seconds: float) -> dict[str, float | str]:
    rng = np.random.default_rng(1)
    begin = time.perf_counter()
    rule = winnow.recipe(recipe) if recipe != "pods" else winnow.recipe("pods", n=16, m=4)
    sums = play(rule, table, as_logged(table.log, rng), Shape(PROMPTS_PER_STEP), rng)
    seconds = time.perf_counter() - begin
    return {
        "name": f"{recipe}, {table.log.visits:,} prompts x {len(table.log) // table.log.visits} / argsort",
        "ratio": seconds / argsort_seconds,
        "seconds": seconds,
        "steps": float(sums[0]),
        "target": "<= 60",
    }


def fastest(work: Callable[[], object], times: int = 3) -> float:
    """Return the least of some times, so that other work on the machine does not flatter the ratios."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def peak() -> float:
    """Return the largest resident memory of this process in bytes; getrusage would count that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return 1024.0 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def memory(prompts: int, rollouts: int) -> None:
    """Print the ratio of what a replay adds to the memory of the process to the columns; for a process of its own."""
    winnow.recipe("grpo").begin(2).ask()
    Table(Log.of([0, 0, 1, 1], [0.0, 1.0, 1.0, 1.0]))
    before = peak()
    given = columns(prompts, rollouts)
    size = sum(column.nbytes for column in given)
    rng = np.random.default_rng(1)
    filled = Table(Log.of(*given))
    play(winnow.recipe("vigor"), filled, as_logged(filled.log, rng), Shape(PROMPTS_PER_STEP), rng)
    print((peak() - before) / size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=1_000_000)
    parser.add_argument("--rollouts", type=int, default=16)
    parser.add_argument("--out", default="benchmarks/results/replay.json")
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        memory(options.prompts, options.rollouts)
        return
    owner, rewards, tokens = columns(options.prompts, options.rollouts)
    noise = np.random.default_rng(2).random(len(rewards))
    argsort_seconds = fastest(lambda: np.argsort(noise))
    begin = time.perf_counter()
    filled = Table(Log.of(owner, rewards, tokens))
    built = time.perf_counter() - begin
    results: list[dict[str, float | str]] = [
        {"name": "grouping the columns and fitting the prior / argsort", "ratio": built / argsort_seconds,
         "seconds": built}
    ]  # fmt: skip
    results += [timed(recipe, filled, argsort_seconds) for recipe in RECIPES]
    size = (f"--prompts={options.prompts}", f"--rollouts={options.rollouts}")
    told = subprocess.run([sys.executable, __file__, "--memory", *size], capture_output=True, text=True, check=True)
    results.append(
        {"name": "peak memory of log and replay (vigor) / columns", "ratio": float(told.stdout), "target": "<= 6"}
    )
    table(results)
    save(options.out, {"argsort_seconds": argsort_seconds, "results": results})


if __name__ == "__main__":
    main()
