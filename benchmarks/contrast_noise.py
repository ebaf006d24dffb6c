"""How noisy the contrast of a prompt is, and which weights and group sizes make the best of it.

    winnow pilot --task mix --set task_options.spread=0.5 --k 32 --prompts 500 --out runs/pilot
    python benchmarks/contrast_noise.py runs/pilot --json benchmarks/results/contrast-noise-middle.json

For every prompt of the pilot whose two halves of rollouts are both mixed, the gradient of (mean log-probability of the
right completions) - (mean of the wrong ones) is taken for each half, in the metric of Adam: divided by the fourth root
of the mean square of such gradients. From the two

- signal: the inner product with the gradient of the pass rate over all other prompts, per unit length of the latter;
- between: |E gradient|^2, the inner product of the halves; it is noise as soon as prompts differ;
- within: the trace of the covariance of a half, times I = r w / (r + w), the part that more rollouts remove.

``noise`` of `winnow.effect` is within / between. Then, with every prompt's own numbers, groups of n rollouts
are drawn by its pass rate, weighted by a rule, and (sum of weight * signal)^2 / sum of weight^2 * square is the signal
to noise of their sum: per rollout, and per unit of cost where a trained row costs ``price`` rollouts. What the rules do
with prompts whose pass rate is 0 or 1 in 32 rollouts is not seen. Gradients are kept as sketches of 8,192 numbers.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import save
from winnow.effect import effect
from winnow.model.load import load
from winnow.model.prompts import encode_prompt
from winnow.objective.logprobs import completion_logprobs
from winnow.report.lines import lines
from winnow.rollout import Prompt

SKETCH, HALF, DRAWS = 8192, 16, 400
SIZES = (2, 3, 4, 8, 16)
BINS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Prompts:
    """What was measured of the prompts with a contrast in some half; arrays are (P,)."""

    rate: Array
    signal: Array
    between: Array
    within: Array
    whole: np.ndarray[Any, np.dtype[np.bool_]]
    """Both halves are mixed: only these tell between from within."""


def read(folder: Path) -> list[list[dict[str, Any]]]:
    """Return the rollouts of each prompt of a pilot."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in lines(folder / "rollouts.jsonl"):
        if line.record is not None:
            groups.setdefault(line.record["prompt_id"], []).append(line.record)
    return [group for group in groups.values() if len(group) >= 2 * HALF]


class Gradients:
    """Gradients of a policy, sketched in the metric of Adam."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model, self._tokenizer = model.eval(), tokenizer
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        size = sum(p.numel() for p in self._parameters)
        generator = torch.Generator().manual_seed(0)
        self._bucket = torch.randint(0, SKETCH, (size,), generator=generator)
        self._sign = torch.randint(0, 2, (size,), generator=generator).float() * 2 - 1
        self._scale = torch.ones(size)

    def measure(self, groups: list[list[dict[str, Any]]]) -> None:
        """Set the metric from a few groups."""
        squares = [self._contrast(group[:HALF]) ** 2 for group in groups if _mixed(group[:HALF])]
        self._scale = (torch.stack(squares).mean(0).sqrt() + 1e-8).rsqrt()

    def sketch(self, rollouts: list[dict[str, Any]]) -> Array:
        """Return the sketch of a half's contrast."""
        gradient = self._contrast(rollouts) * self._scale * self._sign
        return torch.zeros(SKETCH).index_add_(0, self._bucket, gradient).double().numpy()

    def _contrast(self, rollouts: list[dict[str, Any]]) -> torch.Tensor:
        right = np.array([r["outcome"] > 0.5 for r in rollouts])
        each = np.where(right, 1 / right.sum(), -1 / (~right).sum())
        self._model.zero_grad(set_to_none=True)
        prompt = encode_prompt(self._tokenizer, Prompt(rollouts[0]["prompt_id"], rollouts[0]["prompt"]))
        found = completion_logprobs(self._model, [prompt] * len(rollouts), [r["ids"] for r in rollouts])
        (found.sum(1) * torch.tensor(each, dtype=torch.float32)).sum().backward()
        return torch.cat([p.grad.flatten() for p in self._parameters if p.grad is not None])


def measure(groups: list[list[dict[str, Any]]], gradients: Gradients) -> Prompts:
    """Return what the halves of every group say."""
    gradients.measure(groups[::4])
    counts = np.array([[[_right(half), HALF - _right(half)] for half in _halves(group)] for group in groups])
    right, wrong = counts[..., 0].astype(float), counts[..., 1].astype(float)
    mixed = (right > 0) & (wrong > 0)
    sketches = np.zeros((*mixed.shape, SKETCH))
    for place, half in np.argwhere(mixed).tolist():
        sketches[place, half] = gradients.sketch(_halves(groups[place])[half])
    # r w / (n (n - 1)) is p (1 - p) without bias, and p (1 - p) times the contrast is the gradient of p.
    rates_G = (sketches * (right * wrong / HALF / (HALF - 1))[..., None]).mean(1)
    total, mean = rates_G.sum(0), np.linalg.norm(rates_G.mean(0))
    some, whole = mixed.any(1), mixed.all(1)
    contrast = sketches.sum(1) / np.maximum(mixed.sum(1), 1)[:, None]
    others = (total - rates_G) / (len(groups) - 1) / mean
    information = right * wrong / HALF
    between = np.maximum((sketches[:, 0] * sketches[:, 1]).sum(1), 0.0)
    spread = ((sketches[:, 0] - sketches[:, 1]) ** 2).sum(1) / 2
    within = spread / np.where(whole, (1 / np.where(mixed, information, 1)).mean(1), 1)
    ratio = within[whole].mean() / between[whole].mean()
    # One half alone gives the sum of both parts; it is split by the ratio of the others.
    alone = (sketches**2).sum(2).max(1) / (1 + ratio / np.where(mixed, information, 0).max(1).clip(1e-9))
    return Prompts(
        (right.sum(1) + 0.5) / (2 * HALF + 1),
        np.where(some, (contrast * others).sum(1), 0.0),
        np.where(whole, between, np.where(some, alone, 0.0)),
        np.where(whole, within, np.where(some, ratio * alone, 0.0)),
        whole,
    )


Rule = Callable[[Array, Array, Array], Array]
RULES: Mapping[str, Rule] = {
    "grpo: sqrt(r w) / n": lambda r, w, p: np.sqrt(r * w) / (r + w),
    "rloo: r w / (n (n - 1))": lambda r, w, p: r * w / (r + w) / (r + w - 1),
    "maxrl: w / n": lambda r, w, p: w / (r + w),
    "contrast, pass rate unknown": lambda r, w, p: effect(r, w, (w + 1) / (r + w + 2), 0.67),
    "contrast, pass rate known": lambda r, w, p: effect(r, w, 1 - p, 0.67),
}


def ratios(prompts: Prompts, price: float) -> list[dict[str, Any]]:
    """Return the signal to noise of each rule and size, relative to the best size of grpo."""
    found = []
    for name, rule in RULES.items():
        for n in SIZES:
            rng = np.random.default_rng(n)
            p = prompts.rate[:, None]
            right = rng.binomial(n, p, (len(p), DRAWS)).astype(float)
            wrong = n - right
            mixed = (right > 0) & (wrong > 0)
            weight = np.where(mixed, rule(right, wrong, p), 0.0)
            square = prompts.between[:, None] + prompts.within[:, None] * n / np.where(mixed, right * wrong, 1)
            signal = (weight * prompts.signal[:, None]).mean()
            value = signal**2 / (weight**2 * square).mean()
            rows = n * mixed.mean()
            found.append(
                {"rule": name, "n": n, "rollout": value / n, "cost": value / (n + price * rows), "rows": rows / n}
            )
    for kind in ("rollout", "cost"):
        best = max(row[kind] for row in found if row["rule"].startswith("grpo"))
        for row in found:
            row[kind] /= best
    return found


def by_rate(prompts: Prompts) -> list[dict[str, Any]]:
    """Return signal and noise of the prompts with two mixed halves, by pass rate."""
    found = []
    for low, high in itertools.pairwise(BINS):
        chosen = prompts.whole & (prompts.rate >= low) & (prompts.rate < high)
        if chosen.any():
            values = (prompts.signal[chosen], prompts.between[chosen], prompts.within[chosen])
            mean = [float(value.mean()) for value in values]
            found.append({"from": low, "to": high, "prompts": int(chosen.sum()), "signal": mean[0], "between": mean[1],
                          "within": mean[2]})  # fmt: skip
    return found


def noise(prompts: Prompts, resamples: int = 2000) -> list[float]:
    """Return within / between over all prompts with two mixed halves, and its 95% interval over prompts."""
    between, within = prompts.between[prompts.whole], prompts.within[prompts.whole]
    drawn = np.random.default_rng(0).integers(0, len(between), (resamples, len(between)))
    sample = within[drawn].mean(1) / between[drawn].mean(1)
    return [float(within.mean() / between.mean()), *np.quantile(sample, [0.025, 0.975]).tolist()]


def _right(rollouts: list[dict[str, Any]]) -> int:
    return sum(r["outcome"] > 0.5 for r in rollouts)


def _mixed(rollouts: list[dict[str, Any]]) -> bool:
    return 0 < _right(rollouts) < len(rollouts)


def _halves(group: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return group[:HALF], group[HALF : 2 * HALF]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pilot", type=Path, help="folder of a pilot with k of 32 or more")
    parser.add_argument("--model", default=None, help="the policy of the pilot; default: the built-in one")
    parser.add_argument("--price", type=float, default=1.0)
    parser.add_argument("--json", default=None)
    chosen = parser.parse_args()
    policy = load(chosen.model)
    prompts = measure(read(chosen.pilot), Gradients(policy.model, policy.tokenizer))
    found = {"noise": noise(prompts), "by_rate": by_rate(prompts), "ratios": ratios(prompts, chosen.price)}
    print("noise {:.2f} [{:.2f}, {:.2f}]".format(*found["noise"]))
    for row in found["by_rate"]:
        print("pass rate {from:.2f}-{to:.2f}: {prompts} prompts, signal {signal:.1f}, between {between:.0f}, "
              "within {within:.0f}".format(**row))  # fmt: skip
    for row in found["ratios"]:
        print("{rule:30} n={n:<3} {rollout:5.2f} per rollout, {cost:5.2f} per cost, {rows:.2f} rows".format(**row))
    if chosen.json:
        save(chosen.json, {"pilot": json.loads((chosen.pilot / "pilot.json").read_text()).get("settings"), **found})


if __name__ == "__main__":
    main()
