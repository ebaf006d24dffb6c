"""What winnow's coordinator costs inside verl: 8 workers, 1024 prompts, 8 rollouts each on average, no model.

    python benchmarks/host_verl.py --out benchmarks/results/host-verl.json

Sessions end at once, so the time of a step is all overhead: calls between Ray actors and the recipe's own decisions.
Needs ``pip install 'winnow-rl[verl]'``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from typing import Any

import ray

import winnow
from common import save
from winnow.host.verl import actor
from winnow.host.verl.play import Report
from winnow.host.verl.setup import Setup

RECIPES = {
    "grpo": winnow.recipe("grpo", n=8),
    "vigor+pods": winnow.recipe("vigor+pods", m=4),
    "vigor+pods, streaming": winnow.recipe("vigor+pods", m=4, barrier=False),
}


@ray.remote(num_cpus=0, max_concurrency=10_000)
class Worker:
    """Asks for every prompt of its own, and reports at once."""

    async def run(self, coordinator: Any, number: int, uids: list[str]) -> int:
        """Play a step; return the rollouts run."""
        return sum(await asyncio.gather(*(self._prompt(coordinator, number, uid) for uid in uids)))

    async def _prompt(self, coordinator: Any, number: int, uid: str) -> int:
        ran, reports = 0, []
        while sessions := await coordinator.next.remote(number, uid, reports):
            ran += len(sessions)
            reports = [Report(session, float(hash((uid, session)) % 7), None, 100) for session in sessions]
        return ran


def measure(rule: winnow.Recipe, prompts: int, count: int, steps: int) -> dict[str, float]:
    """Return milliseconds per rollout of the median step, and the share spent in the recipe itself."""
    coordinator = actor.start(Setup(recipe=rule, prompts=prompts))
    workers = [Worker.remote() for _ in range(count)]
    seconds, decide = [], []
    for number in range(1, steps + 2):
        uids = [f"{number}-{prompt}" for prompt in range(prompts)]
        began = time.perf_counter()
        ray.get(coordinator.open.remote(number, {uid: f"worker {place % count}" for place, uid in enumerate(uids)}))
        ran = sum(ray.get([worker.run.remote(coordinator, number, uids[place::count])
                           for place, worker in enumerate(workers)]))  # fmt: skip
        decision = ray.get(coordinator.finish.remote(number))
        seconds.append(time.perf_counter() - began)
        decide.append(decision.metrics["winnow/seconds/decide"])
        assert ran == decision.metrics["winnow/rollouts"] == prompts * rule.allocation.n
    for handle in (coordinator, *workers):
        ray.kill(handle)
    middle = sorted(range(1, steps + 1), key=lambda step: seconds[step])[steps // 2]  # the first step warms up
    return {
        "seconds_per_step": round(seconds[middle], 3),
        "ms_per_rollout": round(1000 * seconds[middle] / (prompts * rule.allocation.n), 3),
        "decide_ms_per_rollout": round(1000 * decide[middle] / (prompts * rule.allocation.n), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--out")
    options = parser.parse_args()
    if "RAY_ADDRESS" in os.environ:
        ray.init(log_to_driver=False)
    else:
        ray.init(num_cpus=16, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    found = {name: measure(rule, options.prompts, options.workers, options.steps) for name, rule in RECIPES.items()}
    result = {
        "ray": ray.__version__,
        "prompts": options.prompts,
        "workers": options.workers,
        "recipes": found,
    }
    print(json.dumps(found, indent=2))
    if options.out:
        save(options.out, result)


if __name__ == "__main__":
    main()
