"""How fast a data file is loaded with every row checked: the same rows in each format.

    python benchmarks/data.py --rows 100000 --out benchmarks/results/data.json

Seconds are of the processor, so that they mean something beside other work; the ratio is over ``json.loads`` on the
lines of the JSONL file, measured before and after within the same run.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow
import pyarrow.parquet

from common import save
from winnow import task

QUESTION = "Ann has {} apples and gives {} of them to each of her {} friends. How many apples has she left at the end?"


def rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return rows with the layout of GSM8K and a column of floats."""
    rng = random.Random(seed)
    return [
        {
            "question": f"{number}. " + QUESTION.format(*(rng.randrange(1000) for _ in range(3))),
            "answer": f"Some steps.\n#### {rng.randrange(10**6)}",
            "level": rng.random(),
        }
        for number in range(count)
    ]


def write(folder: Path, records: list[dict[str, Any]]) -> dict[str, Path]:
    """Write the rows in each format."""
    paths = {name: folder / f"rows.{name}" for name in ("jsonl", "json", "csv", "parquet")}
    paths["jsonl"].write_text("".join(json.dumps(record) + "\n" for record in records))
    paths["json"].write_text(json.dumps(records))
    with paths["csv"].open("w", newline="") as file:
        writer = csv.DictWriter(file, records[0])
        writer.writeheader()
        writer.writerows(records)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), paths["parquet"])
    return paths


def parse(path: Path) -> float:
    """Return the seconds that ``json.loads`` alone takes on every line."""
    started = process_time()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return process_time() - started


def load(path: Path, **options: Any) -> float:
    """Return the seconds of loading a task."""
    started = process_time()
    task.load(str(path), options=options)
    return process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--out", default="benchmarks/results/data.json")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), rows(chosen.rows))
        load(paths["jsonl"], reward="math", limit=10)
        before = parse(paths["jsonl"])
        seconds = {name: load(path) for name, path in paths.items()}
        seconds["jsonl, reward math"] = load(paths["jsonl"], reward="math")
        parsing = (before + parse(paths["jsonl"])) / 2
    result = {
        "rows": chosen.rows,
        "json_loads_seconds": parsing,
        "seconds": seconds,
        "ratio": {name: value / parsing for name, value in seconds.items()},
    }
    print(json.dumps(result, indent=1))
    save(chosen.out, result)


if __name__ == "__main__":
    main()
