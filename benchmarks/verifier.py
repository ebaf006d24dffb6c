"""How often the math verifier is wrong, and how fast it is, beside plain math-verify.

    python benchmarks/verifier.py [--out benchmarks/results/verifier.json] [--limit 5]

Verdicts: every pair of ``tests/reward/math_pairs`` (a gold, a completion, the verdict it deserves) is judged by winnow
and by math-verify with its defaults, once with the gold as the data has it and once with the gold between dollar
signs. A false accept pays a wrong answer, a false reject does not pay a right one; a verdict after the limit or an
exception counts as wrong. Speed: seconds per pair, as a ratio within the run, on integer golds (target: at least 20
times faster than ``verify(parse(gold), parse(completion))``) and on expressions.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import math_verify

from common import save

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.reward import math_pairs
from tests.reward.math_pairs import Pair

from winnow.reward.math import verify

Judge = Callable[[Pair], bool | None]

JUDGES = ("winnow", "math-verify", "math-verify, gold in dollar signs")

INTEGERS = [(str(n), f"First {n - 3}, so the answer is \\boxed{{{n + n % 2}}}.") for n in range(7, 400, 13)]
EXPRESSIONS = [
    (f"{a}\\sqrt{{{b}}}", f"so it is \\boxed{{\\sqrt{{{a * a * b}}}}}") for a in range(2, 8) for b in (2, 3, 5, 7)
]


def ours(pair: Pair) -> bool | None:
    outcome = verify(pair.gold, pair.completion).outcome
    return None if outcome is None else outcome == 1.0


def plain(wrapped: bool, limit: int) -> Judge:
    def judge(pair: Pair) -> bool | None:
        gold = f"${pair.gold}$" if wrapped and "$" not in pair.gold else pair.gold
        parsed = math_verify.parse(gold, parsing_timeout=limit)
        answer = math_verify.parse(pair.completion, parsing_timeout=limit)
        return bool(math_verify.verify(parsed, answer, timeout_seconds=limit))

    return judge


def errors(judge: Judge, pairs: Iterable[Pair]) -> tuple[dict[str, Counter[str]], list[str]]:
    """Counts of pairs and of wrong verdicts per kind, and the wrong ones in words."""
    counts: dict[str, Counter[str]] = {}
    wrong = []
    for pair in pairs:
        count = counts.setdefault(pair.kind, Counter())
        count["right" if pair.right else "wrong"] += 1
        try:
            found = judge(pair)
        except Exception as error:
            # A benchmark of a library that may raise anything: an exception is a verdict too, and a wrong one.
            found = type(error).__name__
        if found is pair.right:
            continue
        wrong.append(f"{pair}, got {found}")
        if pair.right is None:
            count["paid without a readable gold"] += found is True
        elif pair.right:
            count["false reject" if found is not None else "unreadable"] += 1
        else:
            count["false accept" if found is True else "unreadable" if found is None else "exception"] += 1
    return counts, wrong


def total(counts: dict[str, Counter[str]]) -> dict[str, int]:
    return dict(sum(counts.values(), Counter()))


def seconds(call: Callable[[str, str], object], pairs: list[tuple[str, str]]) -> float:
    start = time.perf_counter()
    for gold, completion in pairs:
        call(gold, completion)
    return (time.perf_counter() - start) / len(pairs)


def speed(pairs: list[tuple[str, str]], repeats: int = 5) -> dict[str, float]:
    def theirs(gold: str, completion: str) -> None:
        math_verify.verify(math_verify.parse(f"${gold}$"), math_verify.parse(completion))

    seconds(verify, pairs), seconds(theirs, pairs)
    measured = [(seconds(theirs, pairs), seconds(verify, pairs)) for _ in range(repeats)]
    return {
        "ratio": statistics.median(a / b for a, b in measured),
        "seconds": statistics.median(b for _, b in measured),
        "baseline_seconds": statistics.median(a for a, _ in measured),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="benchmarks/results/verifier.json")
    parser.add_argument("--limit", type=int, default=5, help="seconds math-verify may take to parse or to compare")
    options = parser.parse_args()
    logging.disable(logging.ERROR)

    results: dict[str, Any] = {"speed": {"integers": speed(INTEGERS), "roots": speed(EXPRESSIONS)}}
    for name, measured in results["speed"].items():
        print(f"{name}: {measured['ratio']:.0f} times as fast, {1e6 * measured['seconds']:.0f} microseconds a pair")
    judges = dict(zip(JUDGES, (ours, plain(False, options.limit), plain(True, options.limit)), strict=True))
    for source in (math_pairs.development, math_pairs.generated, math_pairs.held_out):
        pairs = source()
        found = {name: errors(judge, pairs) for name, judge in judges.items()}
        results[source.__name__] = {
            name: {"total": total(counts), "kinds": {kind: dict(count) for kind, count in counts.items()}}
            for name, (counts, _) in found.items()
        }
        results[source.__name__]["wrong verdicts of winnow"] = found["winnow"][1]
        for name, (counts, _) in found.items():
            print(f"{source.__name__:<12} {name:<34} {total(counts)}")
    save(options.out, results)
    print_table(results, ("development", "generated"))
    print_table(results, ("held_out",))


def print_table(results: dict[str, Any], parts: tuple[str, ...]) -> None:
    """A table of docs/math-verifier.md: wrong pairs paid and right pairs not paid, per kind."""
    print(f"\n| {' and '.join(parts)} | wrong pairs | right pairs | {' | '.join(JUDGES)} |")
    print("| --- | ---: | ---: |" + " ---: |" * len(JUDGES))
    kinds: dict[str, dict[str, Counter[str]]] = {}
    for part in parts:
        for judge in JUDGES:
            for kind, count in results[part][judge]["kinds"].items():
                for row in (kind, "all"):
                    kinds.setdefault(row, {name: Counter() for name in JUDGES})[judge].update(count)
    kinds["all"] = kinds.pop("all")
    for kind, found in kinds.items():
        cells = [kind, str(found["winnow"]["wrong"]), str(found["winnow"]["right"])]
        for judge in JUDGES:
            paid = found[judge]["false accept"] + found[judge]["paid without a readable gold"]
            missed = found[judge]["false reject"] + found[judge]["unreadable"] + found[judge]["exception"]
            cells.append(f"{paid} / {missed}")
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
