"""How fast `winnow audit` reads a log, and how much memory it takes: a synthetic log of long completions.

    python benchmarks/audit.py --megabytes 300 --out benchmarks/results/audit.json

The speed is a ratio: the megabytes per second of the audit over those of ``json.loads`` on the same lines, measured
in turn within one run. Memory is the growth of the process from half of the log to all of it.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from common import save
from winnow.audit import audit

WORDS = ("the", "sum", "is", "therefore", "we", "get", "x", "=", "7", "12", "and", "so", "boxed", "answer")
TOKENS, GROUP, GROUPS = 200, 16, 64


def write(path: Path, megabytes: float, seed: int = 0) -> None:
    """Write steps of `GROUPS` groups until the log is large enough."""
    rng = random.Random(seed)
    step = 0
    with path.open("w") as file:
        while file.tell() < megabytes * 1e6:
            step += 1
            for _ in range(GROUPS):
                prompt = f"train:{rng.randrange(5000)}"
                for draw in range(GROUP):
                    file.write(json.dumps(rollout(rng, step, prompt, draw), separators=(",", ":")) + "\n")


def rollout(rng: random.Random, step: int, prompt: str, draw: int) -> dict[str, Any]:
    """Return one line with the fields that training writes."""
    right = float(rng.random() < 0.4)
    return {
        "step": step,
        "prompt_id": prompt,
        "rollout_id": f"{step}/{prompt}/{draw}",
        "prompt": f"What is {prompt}?",
        "answer": "7",
        "text": " ".join(rng.choices(WORDS, k=TOKENS)),
        "ids": [rng.randrange(150_000) for _ in range(TOKENS)],
        "finish": "stop",
        "reward": right,
        "outcome": right,
        "parts": {"math": right, "think": 1.0},
        "selected": True,
        "fate": "trained",
        "advantage": 0.1,
        "weight": 1.0,
    }


def parse(path: Path) -> float:
    """Return the seconds that ``json.loads`` alone takes on every line."""
    started = perf_counter()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return perf_counter() - started


def peak_mb() -> float:
    """Return the largest resident memory of this process so far, in MB (Linux counts in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=300.0)
    parser.add_argument("--out", default="benchmarks/results/audit.json")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        half, whole = Path(folder) / "half.jsonl", Path(folder) / "whole.jsonl"
        write(half, chosen.megabytes / 2)
        write(whole, chosen.megabytes)
        audit([half])
        memory_half = peak_mb()
        before = parse(whole)
        facts = audit([whole])
        after = parse(whole)
    parsing = (before + after) / 2
    result = {
        "megabytes": facts["bytes"] / 1e6,
        "rollouts": facts["rollouts"],
        "audit_mb_per_second": facts["megabytes_per_second"],
        "json_mb_per_second": facts["bytes"] / 1e6 / parsing,
        "ratio": parsing / facts["seconds"],
        "peak_memory_mb": peak_mb(),
        "growth_from_half_mb": peak_mb() - memory_half,
    }
    print(json.dumps(result, indent=1))
    save(chosen.out, result)


if __name__ == "__main__":
    main()
