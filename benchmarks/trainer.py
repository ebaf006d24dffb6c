"""Speed and memory of sampling and of whole steps, as ratios measured in one process.

    python benchmarks/trainer.py sampler    # rollouts per second against transformers' generate, target >= 2x
    python benchmarks/trainer.py memory     # peak memory of an update when n doubles at fixed m, target < 1.1x
    python benchmarks/trainer.py step       # a whole step against TRL's GRPOTrainer, target >= 2x

``step`` needs an interpreter that has trl (1.16.0 was measured), with ``PYTHONPATH=src``. Each writes
``benchmarks/results/trainer-NAME.json``. Set OMP_NUM_THREADS=2 GOMP_SPINCOUNT=0 for the numbers on record.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import save, table
from policies import PAD, llama, prompts, tokenizer
from winnow.advantage import grpo
from winnow.engine import Sampler
from winnow.objective import Learner, Objective, Row, Totals
from winnow.rollout import Rollout

PROMPTS, LENGTH, EACH, NEW = 16, 64, 16, 32


def rollouts(sampler: Sampler, ids: list[list[int]], each: int, seed: int) -> list[Rollout]:
    session = sampler.session(ids, seed=seed)
    session.submit([(prompt, each) for prompt in range(len(ids))])
    out: list[Rollout] = []
    while batch := session.advance():
        out += batch
    return out


def compare_sampler(options: argparse.Namespace) -> None:
    """Both sample 256 completions of exactly 32 tokens, in turn; the ratio is the median over turns."""
    model, ids = llama(), prompts(PROMPTS, LENGTH)
    sampler = Sampler(model, None, max_new_tokens=NEW, stop_ids=())
    batch = torch.tensor(ids).repeat_interleave(EACH, 0)
    model.generation_config.eos_token_id = None

    def ours(seed: int) -> None:
        assert len(rollouts(sampler, ids, EACH, seed)) == len(batch)

    def theirs(seed: int) -> None:
        torch.manual_seed(seed)
        with torch.no_grad():
            out = model.generate(
                batch, attention_mask=torch.ones_like(batch), do_sample=True, top_k=0, top_p=1.0,
                max_new_tokens=NEW, pad_token_id=PAD,
            )  # fmt: skip
        assert out.shape == (len(batch), LENGTH + NEW)

    pairs = []
    for turn in range(options.repeats + 1):
        times = [clock(run, turn) for run in (theirs, ours)]
        if turn:  # the first turn warms up
            pairs.append(times)
            print(f"generate {times[0]:.2f} s, winnow {times[1]:.2f} s", flush=True)
    result = ratio_entry("rollouts per second against generate", pairs, "at least 2")
    result["rollouts_per_second"] = len(batch) / result["seconds"]
    table([result])
    save(options.out or "benchmarks/results/trainer-sampler.json", {"results": [result], "turns": pairs})


def clock(run: Callable[[int], None], turn: int) -> float:
    begin = time.perf_counter()
    run(turn)
    return time.perf_counter() - begin


def ratio_entry(name: str, pairs: list[list[float]], target: str) -> dict[str, Any]:
    """Summarise (baseline, ours) seconds."""
    return {
        "name": name,
        "ratio": statistics.median(theirs / ours for theirs, ours in pairs),
        "seconds": statistics.median(ours for _, ours in pairs),
        "baseline_seconds": statistics.median(theirs for theirs, _ in pairs),
        "target": target,
    }


def reward(ids: np.ndarray) -> float:
    """Share of the ids that are lower-case letters: a policy learns it in a few steps."""
    return float(((ids >= 2) & (ids < 28)).mean())


def rows_of(batch: list[Rollout], ids: list[list[int]]) -> tuple[list[Row], float]:
    rewards = np.array([reward(rollout.ids) for rollout in batch])
    advantages = grpo(rewards, np.array([rollout.prompt for rollout in batch]))
    pairs = zip(batch, advantages, strict=True)
    return [Row(ids[r.prompt], r.ids, r.logprobs, float(a)) for r, a in pairs], float(rewards.mean())


def totals_of(rows: list[Row]) -> Totals:
    tokens = sum(len(row.ids) for row in rows)
    return Totals(len(rows), tokens, len(rows), tokens)


def compare_memory(options: argparse.Namespace) -> None:
    """One fresh process per n: sample n, keep m = 8 of each prompt, reset the peak, update, read the peak."""
    found = {}
    for n in (EACH, 2 * EACH):
        command = [sys.executable, __file__, "memory-once", "--n", str(n)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        found[n] = json.loads(out.splitlines()[-1])
        print(f"n={n}: {found[n]}", flush=True)
    small, large = found[EACH], found[2 * EACH]
    results = [
        {"name": "peak of the update, n doubled", "ratio": large["added"] / small["added"], "target": "below 1.1"},
        {"name": "peak of the process, n doubled", "ratio": large["peak"] / small["peak"], "target": "below 1.1"},
    ]
    table(results)
    save(options.out or "benchmarks/results/trainer-memory.json", {"results": results, "megabytes": found})


def memory_once(options: argparse.Namespace) -> None:
    keep = 8
    model, ids = llama(), prompts(PROMPTS, LENGTH)
    learner = Learner(model, lr=1e-4, objective=Objective(), temperature=1.0)
    warm = rows_of(rollouts(Sampler(model, None, max_new_tokens=NEW), ids[:1], 2, 0), ids)[0]
    learner.update(warm, totals_of(warm))  # the optimiser's moments exist before anything is measured
    batch = rollouts(Sampler(model, None, max_new_tokens=NEW), ids, options.n, 0)
    rows = [row for row, rollout in zip(rows_of(batch, ids)[0], batch, strict=True) if rollout.draw < keep]
    before = memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    learner.update(rows, totals_of(rows))
    peak = memory("VmHWM")
    print(json.dumps({"before": before, "peak": peak, "added": peak - before, "rows": len(rows)}))


def memory(field: str) -> float:
    """Return a line of /proc/self/status in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def compare_step(options: argparse.Namespace) -> None:
    """GRPO on the same model, prompts, n, optimiser: TRL steps and ours in turn, in one process."""
    import copy

    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    words, theirs = tokenizer(), llama()
    mine = copy.deepcopy(theirs)
    data = prompts(PROMPTS * options.steps, LENGTH)
    sampler = Sampler(mine, words, max_new_tokens=NEW)
    learner = Learner(mine, lr=options.lr, objective=Objective(), temperature=1.0, betas=(0.9, 0.99))
    seconds: dict[str, list[float]] = {"trl": [], "winnow": []}
    rewards: dict[str, list[float]] = {"trl": [], "winnow": []}
    phases: list[dict[str, float]] = []

    def step(number: int) -> None:
        begin = time.perf_counter()
        ids = data[number * PROMPTS : (number + 1) * PROMPTS]
        batch = rollouts(sampler, ids, EACH, number)
        sampled = time.perf_counter()
        rows, mean = rows_of(batch, ids)
        stats = learner.update(rows, totals_of(rows))
        seconds["winnow"].append(time.perf_counter() - begin)
        rewards["winnow"].append(mean)
        phases.append({"sample": sampled - begin, "update": stats.seconds})

    def score(completion_ids: list[list[int]], **_: Any) -> list[float]:
        values = [reward(np.array(ids)) for ids in completion_ids]
        rewards["trl"].append(float(np.mean(values)))
        return values

    class Turns(TrainerCallback):
        begin = 0.0

        def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
            self.begin = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, *rest: Any, **kwargs: Any) -> None:
            seconds["trl"].append(time.perf_counter() - self.begin)
            step(state.global_step - 1)
            print(
                f"step {state.global_step}: trl {seconds['trl'][-1]:.2f} s {rewards['trl'][-1]:.3f}, "
                f"winnow {seconds['winnow'][-1]:.2f} s {rewards['winnow'][-1]:.3f}",
                flush=True,
            )

    rows = PROMPTS * EACH
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(), use_cpu=True, report_to=[], save_strategy="no", logging_steps=1000,
        disable_tqdm=True, max_steps=options.steps, seed=0, learning_rate=options.lr,
        lr_scheduler_type="constant", weight_decay=0.0, adam_beta1=0.9, adam_beta2=0.99, max_grad_norm=1.0,
        per_device_train_batch_size=rows // options.accumulate, gradient_accumulation_steps=options.accumulate,
        num_generations=EACH, max_completion_length=NEW, temperature=1.0, beta=0.0, loss_type="dapo",
        gradient_checkpointing=False, bf16=False, shuffle_dataset=False,
    )  # fmt: skip
    dataset = Dataset.from_list([{"prompt": words.decode(ids)} for ids in data])
    trainer = GRPOTrainer(theirs, score, args=config, train_dataset=dataset, processing_class=words)
    trainer.add_callback(Turns())
    trainer.train()

    pairs = [list(pair) for pair in zip(seconds["trl"], seconds["winnow"], strict=True)][1:]
    result = ratio_entry("whole step against TRL's GRPOTrainer", pairs, "at least 2")
    gap = np.abs(np.array(rewards["trl"]) - np.array(rewards["winnow"]))
    curves = {"name": "largest gap of mean reward (1 = all)", "ratio": float(gap.max()), "target": "noise"}
    table([result, curves])
    content = {"results": [result, curves], "seconds": seconds, "rewards": rewards, "phases": phases}
    save(options.out or "benchmarks/results/trainer-step.json", content)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sampler", "memory", "memory-once", "step"))
    parser.add_argument("--out", help="JSON file; default benchmarks/results/trainer-WHAT.json")
    parser.add_argument("--repeats", type=int, default=5, help="turns of the sampler benchmark")
    parser.add_argument("--steps", type=int, default=12, help="steps of the step benchmark")
    parser.add_argument("--accumulate", type=int, default=1, help="TRL's gradient accumulation steps")
    parser.add_argument("--lr", type=float, default=3e-4, help="learning rate of the step benchmark")
    parser.add_argument("--n", type=int, default=EACH, help="rollouts per prompt of memory-once")
    options = parser.parse_args()
    run = {"sampler": compare_sampler, "memory": compare_memory, "memory-once": memory_once, "step": compare_step}
    run[options.what](options)


if __name__ == "__main__":
    main()
