"""Hold what a pilot of k rollouts predicts against what many more rollouts of the same prompts show.

    winnow pilot --prompts 1000 --out runs/k8
    winnow pilot --prompts 1000 --k 64 --out runs/k64
    python benchmarks/pilot.py runs/k8 runs/k64 --out benchmarks/results/pilot.json

Both pilots draw the same prompts, and the first rollouts of the second are those of the first, so the comparison uses
the others: sizes up to 32 are then estimated without bias from 56 rollouts that the prediction has not seen.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from common import save, table
from winnow.audit import open_log
from winnow.pilot import Tally, fit_prior, no_signal, worth

SIZES = (2, 4, 8, 16, 32)
PLANNED = 8


def tallies(folder: Path, skip: int = 0) -> dict[str, Tally]:
    """Count the rollouts of each prompt but the first ``skip``."""
    seen: dict[str, int] = {}
    found: dict[str, Tally] = {}
    for entry in open_log([folder]):
        seen[entry.prompt_id] = seen.get(entry.prompt_id, 0) + 1
        tally = found.setdefault(entry.prompt_id, Tally(entry.prompt_id))
        if seen[entry.prompt_id] > skip:
            tally.add(entry.judged, tokens=entry.length, truncated=entry.truncated)
    return found


def compare(few: dict[str, Tally], many: dict[str, Tally]) -> dict[str, Any]:
    """Return predictions of ``few`` beside the shares in ``many``, for all prompts and by how many rollouts passed."""
    names = sorted(few)
    first, rest = [few[name] for name in names], [many[name] for name in names]
    prior = fit_prior(first)
    judged = worth(first, PLANNED, prior)
    mixed = np.array([1 - tally.ties(PLANNED) for tally in rest])
    passed = np.array([tally.passed for tally in first])
    chances, kept = np.array(judged.chances), np.array(judged.kept)
    return {
        "no_signal": [
            {**each.as_dict(), "seen": float(np.mean([tally.ties(each.n) for tally in rest]))}
            for each in no_signal(first, SIZES, prior)
        ],
        "signal_by_passed": [
            {
                "passed": count,
                "prompts": int((passed == count).sum()),
                "predicted": float(chances[passed == count].mean()),
                "seen": float(mixed[passed == count].mean()),
            }
            for count in sorted(set(passed.tolist()))
        ],
        "kept": {
            "predicted": float(chances[kept].mean()),
            "seen": float(mixed[kept].mean()),
            "prompts": int(kept.sum()),
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("few", type=Path)
    parser.add_argument("many", type=Path)
    parser.add_argument("--out", default="benchmarks/results/pilot.json")
    chosen = parser.parse_args()
    few = tallies(chosen.few)
    k = max(tally.drawn for tally in few.values())
    result = compare(few, tallies(chosen.many, skip=k))
    table([{"name": f"n={each['n']}", "ratio": each["share"], "target": each["seen"]} for each in result["no_signal"]])
    print(json.dumps(result["signal_by_passed"]), json.dumps(result["kept"]))
    save(chosen.out, result)


if __name__ == "__main__":
    main()
