"""Turn GSM8K's jsonl files into the parquet files that verl reads.

    python examples/verl_gsm8k/prepare.py PATH/TO/gsm8k --out data/gsm8k

The folder holds ``train.jsonl`` and ``test.jsonl`` with columns ``question`` and ``answer``, as GSM8K is published
(https://github.com/openai/grade-school-math, MIT). Needs ``pip install 'winnow-rl[parquet]'``.
"""

import argparse
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet

ASK = 'Think step by step, and write the final answer as a number after "####".'


def row(question: str, answer: str, split: str, index: int) -> dict:
    """One row in verl's columns; ``data_source`` picks verl's own gsm8k scorer."""
    gold = answer.rsplit("####", 1)[1].strip().replace(",", "")
    return {
        "data_source": "openai/gsm8k",
        "prompt": [{"role": "user", "content": f"{question.strip()}\n{ASK}"}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": gold},
        "extra_info": {"split": split, "index": index},
    }


def convert(source: Path, target: Path, split: str) -> int:
    """Write one split; return its number of rows."""
    lines = [json.loads(line) for line in (source / f"{split}.jsonl").read_text().splitlines() if line.strip()]
    rows = [row(line["question"], line["answer"], split, index) for index, line in enumerate(lines)]
    target.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), target / f"{split}.parquet")
    return len(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="folder with train.jsonl and test.jsonl")
    parser.add_argument("--out", type=Path, default=Path("data/gsm8k"))
    options = parser.parse_args()
    for name in ("train", "test"):
        print(f"{options.out / name}.parquet: {convert(options.source, options.out, name)} rows")
