"""Programs per second of the code verifier, against starting an interpreter for each.

python benchmarks/code.py --out benchmarks/results/code.json

Figures are throughput on an otherwise idle machine and mean little on a busy one: the load average is saved beside
them. ``ratio`` compares with a bare ``python -S -c`` of the same program in the same run, which isolates nothing.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import common
from winnow.reward.code import Case, Tests, isolation, sandbox, verify

PROGRAM = "import math\ndef f(x, y):\n    return [math.gcd(x, y), sorted([y, x])]\n"
FUNCTION = [Case(args=[12, n], expected=None) for n in range(1, 11)]
SCRIPT = "import sys\nprint(sum(map(int, sys.stdin.read().split())))\n"
CORES = len(os.sched_getaffinity(0))


def rate(run: Callable[[int], Any], count: int, jobs: int) -> float:
    """Runs per second, ``jobs`` at a time."""
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, range(jobs)))
        began = time.perf_counter()
        list(pool.map(run, range(count)))
        return count / (time.perf_counter() - began)


def bare(_: int) -> None:
    subprocess.run([sys.executable, "-S", "-c", SCRIPT], input=b"1 2", stdout=subprocess.PIPE, check=True)


def isolated(program: str, tests: Tests, unsafe: bool = False) -> Callable[[int], Any]:
    def run(_: int) -> None:
        verdict = verify(program, tests, unsafe=unsafe)
        assert verdict.score is not None

    return run


def measure(count: int) -> list[dict[str, Any]]:
    """Throughput of each kind of run, one after the other on an equal footing."""
    script = Tests([Case(stdin="1 2", stdout="3")])
    kinds: Sequence[tuple[str, Callable[[int], Any]]] = (
        ("bare interpreter, script", bare),
        ("isolated, script, 1 case", isolated(SCRIPT, script)),
        ("isolated, function, 1 case", isolated(PROGRAM, Tests(FUNCTION[:1], function="f"))),
        ("isolated, function, 10 cases", isolated(PROGRAM, Tests(FUNCTION, function="f"))),
    )
    results: list[dict[str, Any]] = []
    for jobs in sorted({1, CORES}):
        for name, run in kinds:
            per_second = max(rate(run, count, jobs) for _ in range(3))
            base = next((r["per_second"] for r in results if r["jobs"] == jobs), per_second)
            results.append(
                {
                    "name": f"{name}, {jobs} at a time",
                    "jobs": jobs,
                    "per_second": per_second,
                    "ratio": per_second / base,
                }
            )
            print(f"{results[-1]['name']:<48} {per_second:8.0f} /s   {per_second / base:6.2f}", flush=True)
    return results


def processor_time(count: int) -> dict[str, float]:
    """Milliseconds of processor time per program of one case, the launcher's start not counted."""
    tests = Tests(FUNCTION[:1], function="f")
    spent = {}
    for runs in (1, count + 1):
        sandbox.close()
        ours, before = time.process_time(), children()
        for _ in range(runs):
            verify(PROGRAM, tests)
        sandbox.close()
        spent[runs] = (time.process_time() - ours, children() - before)
    before = children()
    for _ in range(count):
        bare(0)
    return {
        "bare_interpreter_ms": 1000 * (children() - before) / count,
        "parent_ms": 1000 * (spent[count + 1][0] - spent[1][0]) / count,
        "children_ms": 1000 * (spent[count + 1][1] - spent[1][1]) / count,
    }


def children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", default="benchmarks/results/code.json")
    parser.add_argument(
        "--count", type=int, default=200, help="programs per measurement; three are made, the best counts"
    )
    args = parser.parse_args()
    began = time.perf_counter()
    found = isolation()
    startup = time.perf_counter() - began
    if not found.available:
        raise SystemExit(f"isolation is {found.describe()}")
    results = measure(args.count)
    common.save(
        args.out, {"first_run_seconds": startup, "processor_time": processor_time(args.count), "results": results}
    )


if __name__ == "__main__":
    main()
