"""Throughput and overhead of `winnow.reward.Pool` on short items.

    OMP_NUM_THREADS=1 python benchmarks/reward.py [--items 10000] [--rounds 5] [--out ...]

Each round times three things in turn, and the best round of each counts, because other work on the machine can only add
time: the reward called in this process item by item (one thread), the same in one bare process per core and nothing
else, and the pool with one worker per core. Targets: the pool reaches at least 80% of cores x one thread on items of a
millisecond, and adds less than 2 ms of a worker's time per item however short. What the bare processes reach is the
most this machine has to give: two cores are rarely twice as fast as one. The share of processor time counts all
processes of the pool and this one, and hardly depends on what else runs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import save, table
from winnow import reward
from winnow.reward import Item, Reward
from winnow.reward.pool import Pool
from winnow.rollout import Prompt

SPEC = f"{Path(__file__).parent / 'reward_work.py'}:work"
PROMPT = Prompt("bench:0", "Add 2 and 5.", "7", {"level": 1})


def items(count: int, loops: int) -> list[Item]:
    return [Item(PROMPT, str(loops), f"0/{index}") for index in range(count)]


def one_by_one(function: Reward, batch: list[Item]) -> None:
    for item in batch:
        function.score([item])


def timed(action: Callable[[], object]) -> float:
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def processor() -> float:
    """Processor seconds of this process and of its descendants that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def processor_per_item(loops: int, count: int, workers: int) -> tuple[float, float]:
    """Processor seconds per item in this process alone and in a pool, the start of the pool taken out."""
    function, batch = reward.load(SPEC), items(count, loops)

    def pooled(part: list[Item]) -> float:
        begun = processor()
        with Pool(SPEC, workers) as pool:
            pool.score(part)
        return processor() - begun

    begun = processor()
    one_by_one(function, batch[: count // 2])
    alone = (processor() - begun) / (count // 2)
    few = batch[: count // 20]
    return alone, (pooled(batch) - pooled(few)) / (count - len(few))


def calibrate(seconds: float) -> int:
    """How many loops take ``seconds`` here."""
    function = reward.load(SPEC)
    loops = 100_000
    return round(loops * seconds / min(timed(lambda: function.score(items(1, loops))) for _ in range(20)))


def serve(connection: Any) -> None:
    """A bare process: told how many items of which length, it scores them and says so."""
    function = reward.load(SPEC)
    while True:
        try:
            count, loops = connection.recv()
        except EOFError:
            return
        one_by_one(function, items(count, loops))
        connection.send(True)


class Bare:
    """One process per core that only scores; ends with this object."""

    def __init__(self, cores: int):
        context = multiprocessing.get_context("spawn")
        self.ends = []
        for _ in range(cores):
            ours, theirs = context.Pipe()
            context.Process(target=serve, args=(theirs,), daemon=True).start()
            theirs.close()
            self.ends.append(ours)

    def score(self, count: int, loops: int) -> None:
        """Score ``count`` items in all and wait for the end."""
        for end in self.ends:
            end.send((count // len(self.ends), loops))
        for end in self.ends:
            end.recv()


def measure(name: str, loops: int, count: int, rounds: int, cores: int, target: bool) -> list[dict[str, Any]]:
    batch, part = items(count, loops), items(max(1, count // 5), loops)
    function, bare = reward.load(SPEC), Bare(cores)
    bare.score(cores, loops)
    times: dict[str, list[float]] = {"thread": [], "bare": [], "pool": []}
    with Pool(SPEC, workers=cores) as pool:
        pool.score(batch[:100])
        for _ in range(rounds):
            times["thread"].append(timed(lambda: one_by_one(function, part)) / len(part))
            times["bare"].append(timed(lambda: bare.score(count, loops)) / count)
            times["pool"].append(timed(lambda: pool.score(batch)) / count)
    best = {key: min(values) for key, values in times.items()}
    shared = {"items": count, "loops": loops, "seconds_per_item": best, "all_rounds": times}
    alone, pooled = processor_per_item(loops, count, cores)
    overhead = 1e3 * (best["pool"] * cores - best["thread"])
    results = [
        {"name": f"{name}: added to each item, ms of a worker", "ratio": overhead, "target": "< 2", **shared},
        {"name": f"{name}: pool / bare processes, throughput", "ratio": best["bare"] / best["pool"]},
        {"name": f"{name}: bare processes / (cores x thread)", "ratio": best["thread"] / cores / best["bare"]},
        {"name": f"{name}: share of processor time spent in the reward", "ratio": alone / pooled},
        {"name": f"{name}: added to each item, ms of processor time", "ratio": 1e3 * (pooled - alone)},
    ]
    if target:
        ideal = best["thread"] / cores / best["pool"]
        results.insert(0, {"name": f"{name}: pool / (cores x thread), throughput", "ratio": ideal, "target": ">= 0.8"})
    return results


def latency(rounds: int) -> dict[str, Any]:
    with Pool(SPEC) as pool:
        pool.score(items(2, 1))
        best = min(timed(lambda: pool.score(items(1, 1))) for _ in range(100 * rounds))
    return {"name": "a batch of one item, ms", "ratio": 1e3 * best, "target": "< 2"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", default="benchmarks/results/reward-pool.json")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    results = []
    for name, loops, target in (("1 ms", calibrate(1e-3), True), ("no work", 1, False)):
        results += measure(name, loops, arguments.items, arguments.rounds, cores, target)
    results.append(latency(arguments.rounds))
    table(results)
    save(arguments.out, {"cores_used": cores, "results": results})


if __name__ == "__main__":
    main()
