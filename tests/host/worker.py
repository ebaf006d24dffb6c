"""One rank of a run over several processes, started by `tests/host/test_trl_ranks.py`; prints one JSON line at the end.

The policy is a random Llama of two small layers, so that 50 steps take seconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, PrinterCallback
from trl import GRPOConfig

import winnow
from tests.host.watched import Watched, lines
from winnow.allocation.base import NOTHING, Grant
from winnow.selection import Select, Selection

PROMPTS, EACH = 4, 3
TOKENIZER = AutoTokenizer.from_pretrained(Path(winnow.__file__).parent / "task" / "policy")


class Plan(winnow.allocation.Uniform):
    """Grants random ragged counts, in up to three waves; most prompts may get nothing."""

    def __init__(self) -> None:
        super().__init__(EACH)

    def begin(self, prompts, rollouts, rng):
        waves = []
        left = len(prompts) * EACH
        for _ in range(rng.integers(1, 4)):
            counts = rng.multinomial(rng.integers(1, left + 1), rng.dirichlet(np.full(len(prompts), 0.3)))
            left -= counts.sum()
            waves.append(Grant(np.flatnonzero(counts), counts[counts > 0].astype(np.int64)))
            if not left:
                break
        return Waves(waves)


class Waves:
    """Hands the waves out one by one."""

    def __init__(self, waves):
        self._waves = waves
        self.finished, self.reason = False, "the plan is done"

    def next(self, seen, left):
        if (seen.told < seen.granted).any():
            return NOTHING
        grant = self._waves.pop(0)
        self.finished = not self._waves
        return grant

    def hear(self, prompts, seen):
        pass


def any_rows(rewards, m, groups=None, *, seed=None) -> Selection:
    """Keep a random number of rows, now and then none; without a seed the ranks choose differently."""
    rng = np.random.default_rng(seed)
    keep = np.flatnonzero(rng.random(len(rewards)) < rng.choice([0.0, 0.3, 0.8, 1.0]))
    return Selection(keep, np.ones(len(keep)))


def first_six(rewards, m, groups=None, *, seed=None) -> Selection:
    """Keep the rows of the first two prompts: with two ranks, all of them sampled by rank 0."""
    return Selection(np.arange(6), np.ones(6))


def policy() -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(TOKENIZER), hidden_size=16, intermediate_size=32, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=128,
            bos_token_id=TOKENIZER.bos_token_id, eos_token_id=TOKENIZER.eos_token_id,
            pad_token_id=TOKENIZER.pad_token_id,
        )
    )  # fmt: skip


def scripted(prompts, completions, completion_ids, **_):
    """A reward that varies within groups."""
    return [float(sum(ids) % 2) for ids in completion_ids]


class Scripted(Watched):
    """Samples completions that depend on the prompt and on the place in the wave only, not on the rank."""

    def _generate_single_turn(self, prompt_ids, *rest, **more):
        first = self._ranks.rank * len(prompt_ids)
        rows = []
        for place, ids in enumerate(prompt_ids, first):
            rng = np.random.default_rng([place, *ids])
            rows.append([*rng.integers(5, 60, rng.integers(1, 5)).tolist(), self._stop_ids()[0]])
        return rows, None


def main(what: str, steps: int) -> None:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    batch = PROMPTS * EACH // world
    slices = 3
    loss_type = "grpo" if what == "same-rows" else "dapo"
    reward, kind, options = scripted, Watched, {}
    if what == "ragged":
        recipe = winnow.Recipe("ragged", allocation=Plan(), selection=Select(any_rows, EACH, ties="random"))
    elif what == "undecided":
        recipe = winnow.Recipe("undecided", allocation=Plan(), selection=Select(any_rows, EACH))
    elif what == "six":
        recipe = winnow.Recipe("six", allocation=winnow.allocation.Uniform(EACH), selection=Select(first_six, EACH))
    elif what in ("same", "same-rows"):
        kind = Scripted
        recipe = winnow.Recipe("same", allocation=Plan(), weight="prompt")
    elif what == "kill":
        recipe = winnow.recipe("grpo", n=EACH)

        def reward(trainer_state, completion_ids, **_):
            if rank == 1 and trainer_state.global_step == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return [float(len(ids) % 2) for ids in completion_ids]
    elif what == "raise":
        recipe = winnow.recipe("grpo", n=EACH)

        def reward(trainer_state, completion_ids, **_):
            if rank == 1 and trainer_state.global_step == 2:
                raise KeyError("the verifier is down")
            return [float(len(ids) % 2) for ids in completion_ids]
    else:
        raise SystemExit(f"unknown scenario {what}")
    args = GRPOConfig(
        output_dir=tempfile.mkdtemp(), use_cpu=True, bf16=False, report_to=[], save_strategy="no", logging_steps=1,
        disable_tqdm=True, max_steps=steps, seed=3, learning_rate=1e-3, num_generations=EACH, loss_type=loss_type,
        per_device_train_batch_size=batch // slices if batch % slices == 0 else 1, max_completion_length=4, beta=0.0,
        gradient_accumulation_steps=slices if batch % slices == 0 else batch, gradient_checkpointing=False,
        max_grad_norm=0.0,
    )  # fmt: skip
    data = Dataset.from_dict({"prompt": [f"{number}+{3 * number}=" for number in range(16)]})
    run = kind(policy(), reward, args, data, recipe=recipe, processing_class=TOKENIZER,
               max_no_signal_steps=1000, **options)  # fmt: skip
    run.remove_callback(PrinterCallback)
    calls = []
    forward = run.compute_loss
    run.compute_loss = lambda *a, **k: (calls.append(int(a[1]["winnow_real"].sum())), forward(*a, **k))[1]
    run.train()
    weights = torch.cat([p.detach().flatten() for p in run.model.parameters()]).double()
    print(json.dumps({
        "rank": rank, "steps": run.state.global_step, "forward_passes": len(calls), "rows": calls,
        "kept": [drawn.batch.kept_rows for drawn in run.drawn],
        "weights": [float(weights.sum()), float(weights.norm())],
        "norms": [line["grad_norm"] for line in lines(run)],
        "surplus": sum(drawn.surplus for drawn in run.drawn),
        "lines": [{k: v for k, v in line.items() if k.startswith(("winnow", "completions", "reward"))}
                  for line in lines(run)][:3],
    }), flush=True)  # fmt: skip
    # Without this a rank that ends first takes the connections of the other one down while its threads still run.
    run.accelerator.wait_for_everyone()
    run.accelerator.end_training()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
