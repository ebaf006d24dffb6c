"""Run folders made up from a seed, in the layout the trainer writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

PROMPTS = 8


def write_run(
    folder: Path,
    *,
    recipe: str = "vigor+pods",
    steps: int = 30,
    n: int = 8,
    m: int = 4,
    rise: float = 0.4,
    seed: int = 0,
    eval_every: int = 5,
    extra: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run that goes from 0.35 to about 0.35 + ``rise``; return its folder."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    accuracy = [0.35]
    records: list[dict[str, Any]] = [
        {"step": 0, "eval/accuracy": 0.35, "eval/samples": 64, "total/rollouts": 0, "total/rows": 0,
         "total/tokens": 0, "total/trained_tokens": 0, "total/seconds": 0.0}
    ]  # fmt: skip
    rollouts, seconds, rows_total = [], 0.0, 0
    no_signal_rollouts = 0
    for step in range(1, steps + 1):
        skill = 0.35 + rise * (1 - np.exp(-3 * step / steps)) / (1 - np.exp(-3))
        rates = np.clip(rng.beta(2 * skill, 2 * (1 - skill), PROMPTS), 0.01, 0.99)
        sizes = np.clip(2 + np.round(4 * n * rates * (1 - rates)), 2, None).astype(int)
        sizes[0] += PROMPTS * n - sizes.sum()
        sizes = np.maximum(sizes, 2)
        ties = []
        for prompt, (rate, size) in enumerate(zip(rates, sizes, strict=True)):
            passes = rng.random(size) < rate
            ties.append("pass" if passes.all() else "fail" if not passes.any() else "")
            chosen = set(rng.permutation(size)[: min(m, size)].tolist())
            for draw, passed in enumerate(passes):
                fate = "gated" if ties[-1] else "trained" if draw in chosen else "not selected"
                rollouts.append(
                    {"step": step, "prompt_id": f"train:{step * PROMPTS + prompt}", "prompt": "What is 7+5?",
                     "rollout_id": f"{step}/train:{step * PROMPTS + prompt}/{draw}", "ids": [7, 2],
                     "text": f"7+5 <b>= {12 if passed else 13}", "finish": "stop", "reward": float(passed),
                     "outcome": float(passed), "selected": fate == "trained", "fate": fate,
                     **({"advantage": 1.0 if passed else -1.0, "weight": 1.0} if fate == "trained" else {})}
                )  # fmt: skip
        drawn = int(sizes.sum())
        tied = [bool(tie) for tie in ties]
        no_signal_rollouts += int(sizes[tied].sum())
        rows = int(np.minimum(sizes, m)[[not tie for tie in tied]].sum())
        rows_total += rows
        phases = {"generate": 0.2 + 0.001 * drawn, "score": 0.01, "decide": 0.001, "update": 0.004 * rows, "log": 0.002}
        seconds += sum(phases.values())
        before = records[-1]
        record = {
            "step": step, "epoch": 0, "prompts": PROMPTS, "rollouts": drawn, "rows": rows,
            "kept_rows": rows, "tokens": drawn * 12, "trained_tokens": rows * 12, "waves": 4,
            "total/rollouts": before["total/rollouts"] + drawn, "total/rows": rows_total,
            "total/tokens": before["total/tokens"] + drawn * 12, "total/trained_tokens": rows_total * 12,
            "total/seconds": seconds, "reward/all": float(rates.mean()), "reward/selected": 0.5,
            "outcome/all": float(rates.mean()), "signal/no_signal": float(np.mean(tied)),
            "signal/all_pass": ties.count("pass") / PROMPTS, "signal/all_fail": ties.count("fail") / PROMPTS,
            "signal/other_tie": 0.0, "unscorable": 0.0, "truncated": 0.05, "length/mean": 12.0,
            "group/min": int(sizes.min()), "group/max": int(sizes.max()), "loss": 0.0, "grad_norm": 0.4,
            "lr": 1e-3, "skipped": 0, **{f"seconds/{name}": value for name, value in phases.items()},
            "seconds/step": sum(phases.values()),
        }  # fmt: skip
        if step % eval_every == 0 or step == steps:
            accuracy.append(float(np.clip(skill + rng.normal(0, 0.015), 0, 1)))
            record |= {"eval/accuracy": accuracy[-1], "eval/samples": 64}
        records.append(record)
    totals = records[-1]
    generated = totals["total/rollouts"]
    ledger = {
        "rollouts": generated, "tokens": totals["total/tokens"], "scored": generated, "unscorable": 0,
        "gated": no_signal_rollouts, "discarded": generated - no_signal_rollouts - rows_total, "selected": rows_total,
        "no_signal": 0, "trained": rows_total, "trained_tokens": rows_total * 12, "groups": PROMPTS * steps,
        "no_signal_groups": 0, "waves": 4 * steps, "seconds": {},
    }  # fmt: skip
    summary = {
        "recipe": recipe, "task": "mix", "model": "shipped policy", "seed": seed, "steps": steps,
        "rollouts": totals["total/rollouts"], "rows": rows_total, "tokens": totals["total/tokens"],
        "trained_tokens": rows_total * 12, "accuracy_first": accuracy[0], "accuracy_final": accuracy[-1],
        "seconds": seconds, "seconds_wall": seconds + 1, "weights_sha256": "ab" * 32, "no_signal_mean": 0.4,
        "skipped_steps": 0, "stopped": "limit steps", "exit_code": 0, "out": str(folder), "ledger": ledger,
        "versions": {"winnow": "0.1.0"},
        **(extra or {}),
    }  # fmt: skip
    _jsonl(folder / "metrics.jsonl", records)
    _jsonl(folder / "rollouts.jsonl", rollouts)
    (folder / "ledger.json").write_text(json.dumps(ledger))
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "config.toml").write_text(f'recipe = "{recipe}"\nseed = {seed}\nlr = 0.001\n')
    return folder


def _jsonl(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
