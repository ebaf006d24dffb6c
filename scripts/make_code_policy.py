"""Make the tiny policy that ships with the code task, in the way of ``make_policy.py``: skill first, then noise.

The noise swaps digits, operators, comparisons and names of functions, more often at the higher levels
(``ACCURACY``), so that sampled programs are wrong more often than the policy has to be.

    python scripts/make_code_policy.py --out src/winnow/task/code_policy
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from make_policy import Stage, make_model, make_tokenizer, train
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from winnow.engine import Sampler
from winnow.reward.base import Item
from winnow.reward.code import Code
from winnow.task.code import prompt_of
from winnow.task.code_problems import LEVELS, Problem, problems

ACCURACY = {
    "arithmetic/0": 0.9,
    "arithmetic/1": 0.6,
    "arithmetic/2": 0.35,
    "strings/0": 0.8,
    "strings/1": 0.5,
    "lists/0": 0.75,
    "lists/1": 0.5,
    "lists/2": 0.3,
}
"""Share of right programs among the demonstrations of the noise stage."""

STAGES = (Stage(330, 1.0, noisy=False, easy=1.0), Stage(90, 0.2, noisy=True, easy=1.0))

_SWAPS = {
    **{digit: [other for other in "0123456789" if other != digit] for digit in "0123456789"},
    **{sign: [other for other in "+-*" if other != sign] for sign in "+-*"},
    "<": [">"],
    ">": ["<"],
    "sum": ["len", "max"],
    "len": ["sum", "max"],
    "upper": ["lower", "title"],
    "replace": ["strip"],
    "[::": ["[:"],
}
_PLACES = re.compile("|".join(map(re.escape, sorted(_SWAPS, key=len, reverse=True))))


def spoil(code: str, accuracy: float, rng: Random) -> str:
    """Swap parts of ``code`` so often that it stays whole with probability ``accuracy``."""
    places = len(_PLACES.findall(code))
    rate = min(0.6, 1.0 - accuracy ** (1.0 / max(places, 1)))
    return _PLACES.sub(lambda found: rng.choice(_SWAPS[found[0]]) if rng.random() < rate else found[0], code)


class Demonstrations:
    """Batches of demonstrations packed into rows of fixed length; those in one row are blind to each other."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, rng: Random, length: int = 160) -> None:
        self.ids: dict[str, int] = tokenizer.get_vocab()
        self.rng, self.length = rng, length
        self.streams = {level: problems(level, rng) for level in LEVELS}

    def batch(self, rows: int, stage: Stage) -> tuple[torch.Tensor, ...]:
        """Return ids, positions, labels (-100 outside answers) and the mask of who may see whom."""
        ids, positions = np.zeros((2, rows, self.length), np.int64)
        labels = np.full((rows, self.length), -100, np.int64)
        owner = np.zeros((rows, self.length), np.int64)
        for row in range(rows):
            used = piece = 0
            while True:
                prompt, answer = self.draw(stage)
                tokens = prompt + answer
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

    def draw(self, stage: Stage) -> tuple[list[int], list[int]]:
        """Return the tokens of a prompt and of its answer."""
        level = self.rng.choice(list(self.streams))
        problem = next(self.streams[level])
        code = spoil(problem.code, ACCURACY[level], self.rng) if stage.noisy else problem.code
        return [self.ids[c] for c in _text(problem)], [self.ids[c] for c in code] + [1]


def _text(problem: Problem) -> str:
    return f"# {problem.words}\ndef f({','.join(problem.names)}):\n return "


def measure(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, size: int, samples: int
) -> dict[str, dict[str, float]]:
    """Pass rates for each level on fresh problems, sampled at temperature 1 and greedy."""
    rates = {}
    for level in LEVELS:
        stream = problems(level, Random(f"measure/{level}"))
        prompts = [prompt_of(f"{level}:{index}", next(stream)) for index in range(size)]
        rates[level] = {
            name: round(float(np.mean(outcomes(model, tokenizer, prompts, count, temperature))), 4)
            for name, count, temperature in (("sampled", samples, 1.0), ("greedy", 1, 1e-4))
        }
        print(f"{level:16s} {rates[level]}", flush=True)
    return rates


def outcomes(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, prompts: list[Any], samples: int, temperature: float
) -> list[float]:
    """Verdicts (0 or 1) on ``samples`` completions of each prompt, in no order."""
    sampler = Sampler(model, tokenizer, max_new_tokens=64, temperature=temperature)
    session = sampler.session([tokenizer(prompt.content)["input_ids"] for prompt in prompts], seed=0)
    session.submit((index, samples) for index in range(len(prompts)))
    items = []
    while finished := session.advance():
        items += [Item(prompts[rollout.prompt], rollout.text) for rollout in finished]
    return [verdict.outcome or 0.0 for verdict in Code(extract="continue").score(items)]


def main() -> None:
    """Train all stages, save the policy in float16, and write down what it can do."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the policy")
    parser.add_argument("--rows", type=int, default=16, help="packed rows of 160 tokens per step")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--measure", type=int, default=64, help="fresh problems per level to measure on")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    tokenizer = make_tokenizer()
    model = make_model(len(tokenizer))
    for number, stage in enumerate(STAGES):
        print(stage, flush=True)
        train(model, Demonstrations(tokenizer, Random(f"code/{args.seed}/{number}")), stage, args.rows)

    model.half().save_pretrained(args.out)
    tokenizer.save_pretrained(args.out)
    # A class that every version of transformers knows; the newest write one that older ones do not.
    saved = args.out / "tokenizer_config.json"
    saved.write_text(saved.read_text().replace("TokenizersBackend", "PreTrainedTokenizerFast"))
    rates = measure(model.float().eval(), tokenizer, args.measure, samples=8)
    (args.out / "pass_rates.json").write_text(json.dumps(rates, indent=2) + "\n")


if __name__ == "__main__":
    main()
