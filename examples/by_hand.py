"""A whole training run in one file, nothing hidden: read it from top to bottom to know what `winnow train` does.

    python examples/by_hand.py --steps 5

It does by hand what the trainer does fast. Left out: the shared cache (every token is a full forward pass), batches
of unequal size cut into micro-batches, checkpoints, limits and logs. Kept: every number. With the same seed the
rollouts, losses, gradient norms and accuracies are those of

    winnow train --steps 5

(`tests/examples/test_by_hand.py` holds the two against each other).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

import winnow
from winnow.curriculum import Epochs
from winnow.engine.noise import uniforms
from winnow.model.load import load
from winnow.model.prompts import encode_prompt
from winnow.reward import Item
from winnow.task import load as load_task
from winnow.train.seeds import derive


@dataclass
class Settings:
    """What a run depends on; the defaults are those of `winnow train`."""

    recipe: str = "vigor+pods"
    steps: int = 5
    prompts: int = 16  # per step
    lr: float = 2e-4
    betas: tuple[float, float] = (0.9, 0.99)
    max_grad_norm: float = 1.0
    max_new_tokens: int = 64
    eval_prompts: int = 256
    eval_samples: int = 4
    eval_every: int = 25
    seed: int = 0
    task_options: dict[str, float] = field(default_factory=dict)


@dataclass
class Completion:
    """Sampled ids (T,), their log-probabilities (T,) when sampled, and the decoded text."""

    ids: list[int]
    logprobs: list[float]
    text: str


def padded(rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Right-pad ids to one length; the mask comes from lengths, so that any id may serve as padding."""
    longest = max(map(len, rows))
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
        mask[i, : len(row)] = 1
    return ids, mask


def log_distribution(model, rows: Sequence[Sequence[int]]) -> Tensor:
    """Return log-probabilities (B, T, V) of the token that follows each position, at temperature 1."""
    ids, mask = padded(rows)
    return model(input_ids=ids, attention_mask=mask).logits.float().log_softmax(-1)


@torch.no_grad()
def sample(model, tokenizer, prompts: Sequence[Sequence[int]], draws, seed: int, limit: int) -> list[Completion]:
    """Sample one completion for each pair (prompt, draw): invert the CDF at a uniform number of its own.

    The numbers depend on (seed, prompt, draw) alone, so a completion does not depend on what else is sampled.
    """
    noise = [uniforms(seed, prompt, draw, limit) for prompt, draw in draws]
    rows = [list(prompts[prompt]) for prompt, _ in draws]
    found = [Completion([], [], "") for _ in draws]
    running = list(range(len(draws)))
    for t in range(limit):
        if not running:
            break
        logp = log_distribution(model, [rows[i] for i in running])
        still = []
        for place, i in enumerate(running):
            last = logp[place, len(rows[i]) - 1]
            cdf = last.exp().cumsum(0)
            token = int(torch.searchsorted(cdf, float(noise[i][t]) * cdf[-1], right=True).clamp(max=len(cdf) - 1))
            found[i].ids.append(token)
            found[i].logprobs.append(float(last[token]))
            rows[i].append(token)
            if token != tokenizer.eos_token_id:
                still.append(i)
        running = still
    for completion in found:
        completion.text = tokenizer.decode(completion.ids, skip_special_tokens=True)
    return found


def collect(model, tokenizer, task, recipe, prompts, seed: int, settings: Settings, number: int):
    """One step's rollouts: ask what to draw, draw it, score it, tell; then the rows that train."""
    encoded = [encode_prompt(tokenizer, prompt) for prompt in prompts]
    step = recipe.begin(prompts, seed=derive(seed, "decide", number))
    drawn = [0] * len(prompts)
    completions: list[Completion] = []
    owners: list[int] = []
    rewards: list[float] = []
    while not step.done:
        draws = []
        for prompt, count in step.ask():
            draws += [(prompt, drawn[prompt] + k) for k in range(count)]
            drawn[prompt] += count
        draws.sort()
        wave = sample(model, tokenizer, encoded, draws, derive(seed, "sample", number), settings.max_new_tokens)
        items = [Item(prompts[p], c.text, f"{number}/{p}/{k}") for (p, k), c in zip(draws, wave, strict=True)]
        scores = [np.nan if verdict.score is None else verdict.score for verdict in task.reward.score(items)]
        step.tell([p for p, _ in draws], scores, tokens=[len(c.ids) for c in wave])
        completions += wave
        owners += [p for p, _ in draws]
        rewards += scores
    return step.finish(), [encoded[p] for p in owners], completions, rewards


def update(model, optimizer, batch, prompts, completions, settings: Settings, objective) -> tuple[float, float]:
    """One optimiser step on the clipped policy loss, averaged over the tokens of all kept rows."""
    rows = [(r, a, w) for r, a, w in zip(batch.rows, batch.advantages, batch.weights, strict=True) if a != 0]
    if not rows:
        return 0.0, 0.0  # nothing to learn: weights and optimiser stay as they are
    model.train()
    logp = log_distribution(model, [[*prompts[r], *completions[r].ids] for r, _, _ in rows])
    loss = torch.zeros(())
    for i, (r, advantage, weight) in enumerate(rows):
        begin, ids = len(prompts[r]), completions[r].ids
        new = logp[i, begin - 1 : begin - 1 + len(ids)].gather(1, torch.tensor(ids)[:, None])[:, 0]
        ratio = (new - torch.tensor(completions[r].logprobs)).exp()
        clipped = ratio.clamp(1 - objective.clip_low, 1 + objective.clip_high)
        loss = loss - weight * torch.minimum(ratio * advantage, clipped * advantage).sum()
    loss = loss / batch.kept_tokens  # rows without signal count here, though they give no gradient
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
    optimizer.step()
    optimizer.zero_grad()
    model.eval()
    return float(loss.detach()), float(norm)


def held_out_accuracy(model, tokenizer, task, settings: Settings) -> float:
    """Mean verdict over several completions of every held-out prompt; the same noise each time."""
    prompts = task.test[: settings.eval_prompts]
    encoded = [encode_prompt(tokenizer, prompt) for prompt in prompts]
    draws = [(p, k) for p in range(len(prompts)) for k in range(settings.eval_samples)]
    found = sample(model, tokenizer, encoded, draws, 0, settings.max_new_tokens)
    verdicts = task.reward.score([Item(prompts[p], c.text, "") for (p, _), c in zip(draws, found, strict=True)])
    return float(np.mean([verdict.outcome for verdict in verdicts]))


def run(settings: Settings) -> list[dict[str, float]]:
    """Train; return one record per step, the first holding only the accuracy before training."""
    task = load_task("mix", seed=0, options=settings.task_options)
    loaded = load(task.policy)
    model, tokenizer = loaded.model.eval(), loaded.tokenizer
    recipe = winnow.recipe(settings.recipe)
    curriculum = Epochs(len(task.train), derive(settings.seed, "order"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.lr, betas=settings.betas, weight_decay=0.0)
    records = [{"step": 0, "accuracy": held_out_accuracy(model, tokenizer, task, settings)}]
    for number in range(1, settings.steps + 1):
        prompts = [task.train[i] for i in curriculum.next(settings.prompts)]
        batch, encoded, completions, rewards = collect(
            model, tokenizer, task, recipe, prompts, settings.seed, settings, number
        )
        loss, norm = update(model, optimizer, batch, encoded, completions, settings, recipe.objective)
        record = {
            "step": number,
            "reward": float(np.nanmean(rewards)),
            "no_signal": 1 - float(np.mean(batch.signal)),
            "rollouts": batch.ledger.rollouts,
            "rows": batch.ledger.trained,
            "loss": loss,
            "grad_norm": norm,
        }
        if number % settings.eval_every == 0 or number == settings.steps:
            record["accuracy"] = held_out_accuracy(model, tokenizer, task, settings)
        records.append(record)
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="vigor+pods")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for record in run(Settings(recipe=options.recipe, steps=options.steps, seed=options.seed)):
        print("  ".join(f"{name} {value:.4g}" for name, value in record.items()))


if __name__ == "__main__":
    main()
