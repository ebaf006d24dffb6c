"""Make the tiny policy that ships with winnow: its skill is real, and hidden under graded noise.

Supervised training on problems of the default task (`winnow.task.arithmetic`), in the stages of ``STAGES``:

1. skill: right answers only, so that the model really computes sums, solutions and expressions;
2. noise: the same problems, where a share of the answers that grows with the level has wrong digits or
   operators (``ACCURACY``). Sampled accuracy falls with it, while the right answer stays the likeliest one
   wherever the skill stage found it. Reinforcement learning brings it back.

    python scripts/make_policy.py --out src/winnow/task/policy

About 3000 steps of 0.26 s on one idle core. The seed decides data and initial weights; another version of
torch or number of threads rounds differently and gives other weights. The pass rates of what came out are
written beside them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from winnow.engine import Sampler
from winnow.reward.base import Item
from winnow.rollout import Prompt
from winnow.task.arithmetic import LEVELS, Problem, problems
from winnow.task.mix import Arithmetic, prompt_of

ACCURACY = {
    "chain_sum/0": 0.99,
    "chain_sum/1": 0.60,
    "chain_sum/2": 0.40,
    "chain_sum/3": 0.15,
    "simple_equations/0": 0.99,
    "simple_equations/1": 0.45,
    "simple_equations/2": 0.08,
    "countdown/0": 0.99,
    "countdown/1": 0.60,
    "countdown/2": 0.25,
    "countdown/3": 0.03,
}
"""Share of right answers among the demonstrations of the noise stage."""


@dataclass(frozen=True)
class Stage:
    """One stretch of training with its own warm-up and decay.

    Attributes:
        steps: optimiser steps.
        scale: factor on the learning rates.
        noisy: whether the demonstrations are as wrong as ``ACCURACY`` says; else all are right.
        easy: how much more often than the others the levels without noise are shown. They need it, because
            a group of 8 only lacks signal as a rule where 98% of the answers are right.
    """

    steps: int
    scale: float
    noisy: bool
    easy: float


STAGES = (
    Stage(1600, 1.0, noisy=False, easy=1.0),
    Stage(700, 0.6, noisy=False, easy=2.0),
    Stage(500, 0.2, noisy=True, easy=2.0),
    Stage(160, 0.12, noisy=True, easy=4.0),
)

SPECIAL = ["<pad>", "<eos>", "<unk>"]
CHARACTERS = [chr(code) for code in range(32, 127)] + ["\n"]
WIDTH, LAYERS, HEADS, INNER, CONTEXT = 128, 5, 4, 344, 256


def make_tokenizer() -> PreTrainedTokenizerFast:
    """One token per printable ASCII character and new line, plus pad, end of sequence and unknown."""
    vocabulary = {token: index for index, token in enumerate(SPECIAL + CHARACTERS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def make_model(vocabulary: int) -> LlamaForCausalLM:
    """A Llama of about one million parameters."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        initializer_range=WIDTH**-0.5 / 2,
    )
    return LlamaForCausalLM(config)


_ORDERS = list(itertools.permutations(range(3)))
_FORMS = [(order, a, b, brackets) for order in _ORDERS for a in "+-*" for b in "+-*" for brackets in (False, True)]
_FORMS = [form for form in _FORMS if not form[3] or (form[1] in "+-" and form[2] == "*")]


def expressions(problem: Problem) -> list[str]:
    """All right expressions over the numbers of a countdown problem, without division."""
    right = []
    operate = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}
    for order, first, second, brackets in _FORMS:
        a, b, c = (problem.numbers[i] for i in order)
        if second == "*" and first != "*" and not brackets:
            value = operate[first](a, b * c)
        else:
            value = operate[second](operate[first](a, b), c)
        if value == problem.target:
            right.append(f"({a}{first}{b}){second}{c}" if brackets else f"{a}{first}{b}{second}{c}")
    return right


def spoil(answer: str, accuracy: float, rng: Random) -> str:
    """Change digits and operators of ``answer`` so often that it stays whole with probability ``accuracy``.

    No more than 60% of the characters of one place change, so that the right one stays by far the likeliest.
    The sign of a negative number stays.
    """
    places = [place for place, c in enumerate(answer) if c.isdigit() or (c in "+-*" and place)]
    rate = min(0.6, 1.0 - accuracy ** (1.0 / len(places)))
    spoiled = list(answer)
    for place in places:
        if rng.random() < rate:
            others = "0123456789" if answer[place].isdigit() else "+-*"
            spoiled[place] = rng.choice(others.replace(answer[place], ""))
    return "".join(spoiled)


def demonstrate(problem: Problem, accuracy: float, rng: Random) -> str:
    """Answer a problem, right with probability ``accuracy``."""
    answer = rng.choice(expressions(problem)) if problem.numbers else problem.answer
    return spoil(answer, accuracy, rng)


class Demonstrations:
    """Batches of demonstrations packed into rows of fixed length; those in one row are blind to each other."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, rng: Random, length: int = 64) -> None:
        self.ids = tokenizer.get_vocab()
        self.rng, self.length = rng, length
        self.streams = {level: problems(level, rng) for level in LEVELS}

    def batch(self, rows: int, stage: Stage) -> tuple[torch.Tensor, ...]:
        """Return ids, positions, labels (-100 outside answers) and the mask of who may see whom."""
        ids = np.zeros((rows, self.length), np.int64)
        positions = np.zeros((rows, self.length), np.int64)
        labels = np.full((rows, self.length), -100, np.int64)
        owner = np.zeros((rows, self.length), np.int64)
        names = list(LEVELS)
        weights = [stage.easy if ACCURACY[name] > 0.9 else 1.0 for name in names]
        for row in range(rows):
            used = piece = 0
            while True:
                level = self.rng.choices(names, weights)[0]
                problem = next(self.streams[level])
                accuracy = ACCURACY[level] if stage.noisy else 1.0
                answer = [self.ids[c] for c in demonstrate(problem, accuracy, self.rng)] + [1]
                tokens = [self.ids[c] for c in problem.text] + answer
                end = used + len(tokens)
                if end > self.length:
                    break
                piece += 1
                ids[row, used:end] = tokens
                positions[row, used:end] = range(len(tokens))
                labels[row, end - len(answer) : end] = answer
                owner[row, used:end] = piece
                used = end
        seen = np.tril(owner[:, :, None] == owner[:, None, :])[:, None]
        return tuple(map(torch.from_numpy, (ids, positions, labels, seen)))


def train(model: LlamaForCausalLM, data: Demonstrations, stage: Stage, rows: int) -> None:
    """Train on fresh demonstrations: Muon for the matrices, AdamW for the rest, linear decay in the second half.

    Args:
        model: trained in place.
        data: where demonstrations come from.
        stage: how long, how fast, on what.
        rows: packed rows per step.
    """
    steps, scale = stage.steps, stage.scale
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    rest = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    optimizers = [
        torch.optim.Muon(matrices, lr=0.02 * scale, weight_decay=0.01, adjust_lr_fn="original"),
        torch.optim.AdamW(rest, lr=3e-3 * scale, betas=(0.9, 0.98), weight_decay=0.01),
    ]
    peaks = [optimizer.param_groups[0]["lr"] for optimizer in optimizers]
    began, running = time.perf_counter(), 0.0
    for step in range(1, steps + 1):
        factor = min(1.0, step / 40, 0.02 + 2.0 * (steps - step) / steps)
        for optimizer, peak in zip(optimizers, peaks, strict=True):
            optimizer.param_groups[0]["lr"] = peak * factor
        ids, positions, labels, seen = data.batch(rows, stage)
        hidden = model.model(input_ids=ids, position_ids=positions, attention_mask=seen).last_hidden_state
        wanted = labels[:, 1:] != -100
        loss = torch.nn.functional.cross_entropy(model.lm_head(hidden[:, :-1][wanted]), labels[:, 1:][wanted])
        model.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        running += 0.02 * (loss.item() - running)
        if step % 100 == 0:
            print(
                f"{time.perf_counter() - began:5.0f} s  step {step}  loss {running / (1 - 0.98**step):.4f}", flush=True
            )


def measure(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, size: int, samples: int
) -> dict[str, dict[str, float]]:
    """Pass rates and the share of groups of 8 without signal, for each level, on fresh problems.

    The share is the mean over problems of its unbiased estimate from ``samples`` completions: the chance
    that 8 of them, drawn without replacement, are all right or all wrong.
    """
    rates = {}
    for level in LEVELS:
        stream = problems(level, Random(f"measure/{level}"))
        prompts = [prompt_of(f"{level}:{index}", next(stream)) for index in range(size)]
        sampled = outcomes(model, tokenizer, prompts, samples, temperature=1.0)
        greedy = outcomes(model, tokenizer, prompts, 1, temperature=1e-4)
        right = sampled.sum(axis=1)
        tied = [(math.comb(r, 8) + math.comb(samples - r, 8)) / math.comb(samples, 8) for r in right]
        rates[level] = {
            "sampled": round(float(sampled.mean()), 4),
            "greedy": round(float(greedy.mean()), 4),
            "no_signal_at_8": round(float(np.mean(tied)), 4),
        }
        print(f"{level:20s} {rates[level]}", flush=True)
    return rates


def outcomes(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: list[Prompt],
    samples: int,
    temperature: float,
) -> np.ndarray:
    """Verdicts (0 or 1) on ``samples`` completions of each prompt, an int array (prompts, samples)."""
    sampler = Sampler(model, tokenizer, max_new_tokens=16, temperature=temperature)
    session = sampler.session([tokenizer(prompt.content)["input_ids"] for prompt in prompts], seed=0)
    session.submit((index, samples) for index in range(len(prompts)))
    verdicts = np.zeros((len(prompts), samples), dtype=int)
    while finished := session.advance():
        items = [Item(prompts[rollout.prompt], rollout.text) for rollout in finished]
        for rollout, verdict in zip(finished, Arithmetic().score(items), strict=True):
            verdicts[rollout.prompt, rollout.draw] = int(verdict.score)
    return verdicts


def main() -> None:
    """Train all stages, save the policy in float16, and write down what it can do."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the policy")
    parser.add_argument("--rows", type=int, default=32, help="packed rows of 64 tokens per step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", type=int, default=128, help="fresh problems per level to measure on")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer))
    for number, stage in enumerate(STAGES):
        print(stage, flush=True)
        train(model, Demonstrations(tokenizer, Random(f"{args.seed}/{number}")), stage, args.rows)

    model.half().save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    # A class that every version of transformers knows; the newest write one that older ones do not.
    saved = args.out / "tokenizer_config.json"
    saved.write_text(saved.read_text().replace("TokenizersBackend", "PreTrainedTokenizerFast"))
    rates = measure(model.float().eval(), tokenizer, args.measure, samples=16)
    (args.out / "pass_rates.json").write_text(json.dumps(rates, indent=2) + "\n")


if __name__ == "__main__":
    main()
