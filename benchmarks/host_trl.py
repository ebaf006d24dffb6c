"""What a recipe costs inside TRL: memory of the update, and time of a step against plain TRL with n and with m.

    python benchmarks/host_trl.py memory   # peak of the update with m fixed and n = 2m, 4m, 8m; and plain TRL
    python benchmarks/host_trl.py step     # n = 4m: a step against num_generations=m and num_generations=n

Needs the extra ``trl``. Both write their part of ``benchmarks/results/host-trl.json``. In ``step`` the trainers take
turns within one process, step by step, so that ratios hold on a busy machine; memory is measured in fresh processes.
Set OMP_NUM_THREADS=1 GOMP_SPINCOUNT=0 for the numbers on record.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

import winnow
from common import environment, table
from policies import llama, prompts, tokenizer
from winnow.host.trl import WinnowGRPOTrainer

PROMPTS, LENGTH, NEW, M = 4, 64, 32, 8
OUT = "benchmarks/results/host-trl.json"


def policy() -> Any:
    """Return a random Llama of 0.8 M weights."""
    return llama(width=128, layers=4)


def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
    """Share of the ids that are lower-case letters."""
    return [float(((np.array(ids) >= 2) & (np.array(ids) < 28)).mean()) for ids in completion_ids]


def trainer(
    n: int, m: int, steps: int, slices: int = 1, kind: type[WinnowGRPOTrainer] = WinnowGRPOTrainer
) -> GRPOTrainer:
    """Return plain TRL where n is m, else winnow's trainer with PODS; the model and the prompts are the same."""
    words = tokenizer()
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(), use_cpu=True, report_to=[], save_strategy="no", logging_steps=1000,
        disable_tqdm=True, max_steps=steps, seed=0, learning_rate=1e-4, lr_scheduler_type="constant",
        per_device_train_batch_size=PROMPTS * m // slices, gradient_accumulation_steps=slices, num_generations=m,
        max_completion_length=NEW, temperature=1.0, beta=0.0, gradient_checkpointing=False, bf16=False,
        shuffle_dataset=False,
    )  # fmt: skip
    data = Dataset.from_list([{"prompt": words.decode(ids)} for ids in prompts(PROMPTS * steps, LENGTH)])
    common: dict[str, Any] = {"args": config, "train_dataset": data, "processing_class": words}
    if n == m:
        found = GRPOTrainer(policy(), reward, **common)
    else:
        found = kind(policy(), reward, recipe=winnow.recipe("pods", n=n, m=m), **common)
    found.remove_callback(PrinterCallback)
    return found


class Turns(TrainerCallback):
    """Lets trainers in threads step one after the other, and takes the time of each step."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.seconds: dict[str, list[float]] = {name: [] for name in names}
        self._next = 0
        self._turn = threading.Condition()

    def of(self, name: str) -> TrainerCallback:
        """Return the callback of one trainer."""
        outer = self

        class One(TrainerCallback):
            def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
                outer.wait(name)
                self.begin = time.perf_counter()

            def on_step_end(self, *args: Any, **kwargs: Any) -> None:
                outer.seconds[name].append(time.perf_counter() - self.begin)
                outer.done()

        return One()

    def wait(self, name: str) -> None:
        """Block until it is this trainer's turn."""
        with self._turn:
            self._turn.wait_for(lambda: self.names[self._next % len(self.names)] == name)

    def done(self) -> None:
        """Pass the turn on."""
        with self._turn:
            self._next += 1
            self._turn.notify_all()


def compare_step(options: argparse.Namespace) -> dict[str, Any]:
    sizes = {f"TRL, num_generations=m={M}": (M, M), f"winnow pods, n={4 * M}, m={M}": (4 * M, M),
             f"TRL, num_generations=n={4 * M}": (4 * M, 4 * M)}  # fmt: skip
    turns = Turns(list(sizes))
    runs = {name: trainer(n, m, options.steps + 1, slices=max(1, m // M)) for name, (n, m) in sizes.items()}
    for name, run in runs.items():
        run.add_callback(turns.of(name))
    threads = [threading.Thread(target=run.train, daemon=True) for run in runs.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    few, ours, many = [seconds[1:] for seconds in turns.seconds.values()]
    results = [
        {"name": "step: winnow n=4m against TRL with n", "ratio": _median(many, ours), "target": "above 1 (cheaper)"},
        {
            "name": "step: winnow n=4m against TRL with m",
            "ratio": _median(few, ours),
            "target": "at most 1 (it draws more)",
        },
    ]
    table(results)
    return {"results": results, "seconds": turns.seconds, "phases": _phases(runs[turns.names[1]])}


def _median(theirs: list[float], ours: list[float]) -> float:
    return statistics.median(their / mine for their, mine in zip(theirs, ours, strict=True))


def _phases(run: GRPOTrainer) -> dict[str, float]:
    """Return the mean seconds of each phase of winnow's trainer, the first step included."""
    logged = {name: values for line in run.state.log_history for name, values in line.items()}
    logged |= {name: float(np.mean(values)) for name, values in run._metrics["train"].items()}
    return {name: value for name, value in logged.items() if name.startswith("winnow/seconds")}


def compare_memory(options: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for n, m in ((M, M), (2 * M, M), (4 * M, M), (8 * M, M), (2 * M, 2 * M), (4 * M, 4 * M)):
        command = [sys.executable, __file__, "memory-once", "--n", str(n), "--m", str(m)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        name = f"TRL {m}" if n == m else f"winnow pods {n} -> {m}"
        found[name] = json.loads(out.splitlines()[-1])
        print(name, found[name], flush=True)
    added = {name: entry["added"] for name, entry in found.items()}
    small, double, large = (added[f"winnow pods {k * M} -> {M}"] for k in (2, 4, 8))
    results = [
        {"name": "update: n doubled, m fixed", "ratio": double / small, "target": "below 1.1"},
        {"name": "update: n times four, m fixed", "ratio": large / small, "target": "below 1.1"},
        {"name": "update: winnow n=4m against TRL with m", "ratio": double / added[f"TRL {M}"], "target": "about 1"},
        {"name": "update: TRL with n=4m against TRL with m", "ratio": added[f"TRL {4 * M}"] / added[f"TRL {M}"]},
    ]
    table(results)
    return {"results": results, "megabytes": found}


def memory_once(options: argparse.Namespace) -> None:
    """Peak of the second update over what the process held when its rows were ready."""
    run = trainer(options.n, options.m, 2)
    found: dict[str, float] = {}
    prepare = run._generate_and_score_completions

    def prepared(inputs: Any) -> Any:
        output = prepare(inputs)
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what sampling has freed would hide what the update needs
        found["before"] = memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
        return output

    run._generate_and_score_completions = prepared

    class Peak(TrainerCallback):
        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            found["peak"] = memory("VmHWM")

    run.add_callback(Peak())
    run.train()
    print(json.dumps(found | {"added": found["peak"] - found["before"]}))


def memory(field: str) -> float:
    """Return a line of /proc/self/status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("memory", "memory-once", "step"))
    parser.add_argument("--out", default=OUT)
    parser.add_argument("--steps", type=int, default=6, help="measured steps of each trainer; one more warms up")
    parser.add_argument("--n", type=int, default=4 * M)
    parser.add_argument("--m", type=int, default=M)
    options = parser.parse_args()
    if options.what == "memory-once":
        return memory_once(options)
    part = {"memory": compare_memory, "step": compare_step}[options.what](options)
    path = Path(options.out)
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, options.what: {"environment": environment(), **part}}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
