"""At most six minutes on one large GPU: does it learn, how fast it samples, what an update costs.

    python benchmarks/gpu.py [--tiny] [--out benchmarks/results/gpu.json] [--parts sampler update learning]

- sampler: completions per second of winnow's loop against ``generate``, a random 0.5B Qwen2 in bfloat16;
- update: seconds and peak memory over n (generated) and m (trained) rollouts per prompt, same model;
- learning: the default task with its shipped policy, held-out accuracy before and after.

A part that would begin after its share of the time is left out and says so. ``--tiny`` runs everything in
seconds on a CPU, with numbers that mean nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from common import save
from policies import prompts
from trainer import rollouts, rows_of, totals_of
from winnow.engine import Sampler
from winnow.objective import Learner, Objective


@dataclass(frozen=True)
class Size:
    """How large the run is."""

    prompts: int
    length: int
    new: int
    each: tuple[int, ...]
    keep: tuple[int, ...]
    repeats: int
    learning_seconds: float
    learning_prompts: int
    limit: float


FULL = Size(16, 256, 256, (16, 32, 64), (8, 16, 32), 2, 90.0, 256, 360.0)
TINY = Size(2, 8, 6, (2, 4), (2,), 1, 2.0, 8, 60.0)


def qwen2(tiny: bool, device: torch.device) -> Any:
    """Return a random model of the shape of Qwen2.5-0.5B, or of nothing much."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    shape = {
        "vocab_size": 151_936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
        "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True,
    }  # fmt: skip
    if tiny:
        shape |= {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
        shape |= {"num_attention_heads": 4}
    torch.manual_seed(0)
    config = Qwen2Config(**shape, bos_token_id=None, eos_token_id=None, pad_token_id=0)
    return Qwen2ForCausalLM(config).to(device, torch.float32 if tiny else torch.bfloat16).eval()


def clock(device: torch.device, run: Callable[[], Any]) -> float:
    """Return seconds until the device is done."""
    synchronise(device)
    begin = time.perf_counter()
    run()
    synchronise(device)
    return time.perf_counter() - begin


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure_sampler(size: Size, tiny: bool, device: torch.device) -> dict[str, Any]:
    model = qwen2(tiny, device)
    ids = prompts(size.prompts, size.length, vocabulary=model.config.vocab_size)
    each = size.each[0]
    batch = torch.tensor(ids, device=device).repeat_interleave(each, 0)
    sampler = Sampler(model, None, max_new_tokens=size.new, stop_ids=(), slots=len(batch))

    def theirs() -> None:
        with torch.no_grad():
            model.generate(
                batch, attention_mask=torch.ones_like(batch), do_sample=True, top_k=0, top_p=1.0,
                max_new_tokens=size.new, pad_token_id=0,
            )  # fmt: skip

    turns = []
    for turn in range(size.repeats + 1):
        pair = [clock(device, theirs), clock(device, lambda: rollouts(sampler, ids, each, 0))]
        if turn:
            turns.append(pair)
    best = [min(turn[side] for turn in turns) for side in (0, 1)]
    return {
        "rollouts": len(batch),
        "generate_seconds": best[0],
        "winnow_seconds": best[1],
        "ratio": best[0] / best[1],
        "tokens_per_second": len(batch) * size.new / best[1],
    }


def measure_update(size: Size, tiny: bool, device: torch.device) -> list[dict[str, Any]]:
    model = qwen2(tiny, device)
    ids = prompts(size.prompts, size.length, vocabulary=model.config.vocab_size)
    learner = Learner(model, lr=1e-6, objective=Objective(), temperature=1.0)
    found = []
    for n in size.each:
        sampler = Sampler(model, None, max_new_tokens=size.new, stop_ids=(), slots=256)
        batch: list[Any] = []
        generated = clock(device, lambda n=n, s=sampler, b=batch: b.extend(rollouts(s, ids, n, 0)))  # type: ignore[misc]
        rows, _ = rows_of(batch, ids)
        for m in (m for m in size.keep if m <= n):
            kept = [row for row, rollout in zip(rows, batch, strict=True) if rollout.draw < m]
            if device.type == "cuda":
                torch.cuda.empty_cache()
                torch.cuda.reset_peak_memory_stats(device)
            seconds = clock(device, lambda k=kept: learner.update(k, totals_of(k)))  # type: ignore[misc]
            peak = torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else None
            found.append({"n": n, "m": m, "generate_seconds": generated, "update_seconds": seconds, "peak_mb": peak})
            print(found[-1], flush=True)
    return found


def measure_learning(size: Size, tiny: bool, device: torch.device) -> dict[str, Any]:
    if importlib.util.find_spec("winnow.train") is None:
        return {"left_out": "winnow.train is not there"}
    from winnow.train import TrainConfig, Trainer

    with tempfile.TemporaryDirectory() as folder:
        config = TrainConfig(
            device=device.type, dtype="float32", out=f"{folder}/run", seconds=size.learning_seconds,
            prompts_per_step=4 if tiny else 32, eval_prompts=size.learning_prompts, eval_every=0,
            checkpoint_every=0,
        )  # fmt: skip
        summary = dict(Trainer(config).run())
    wanted = ("accuracy_first", "accuracy_final", "steps", "rollouts", "rows", "seconds")
    return {key: summary.get(key) for key in wanted}


PARTS = {"sampler": measure_sampler, "update": measure_update, "learning": measure_learning}


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true", help="seconds on a CPU, to see that it runs")
    parser.add_argument("--out", default="benchmarks/results/gpu.json", help="JSON file")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    size = TINY if options.tiny else FULL
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    begin = time.perf_counter()
    results: dict[str, Any] = {"device": name, "tiny": options.tiny}
    for part in options.parts:
        spent = time.perf_counter() - begin
        if spent > size.limit - size.learning_seconds * 1.5:
            results[part] = {"left_out": f"{spent:.0f} s are gone already"}
            continue
        results[part] = PARTS[part](size, options.tiny, device)
        print(part, results[part], flush=True)
        save(options.out, {**results, "seconds": time.perf_counter() - begin})
    return results


if __name__ == "__main__":
    main()
