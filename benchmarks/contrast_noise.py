"""How noisy the two sides of a prompt's contrast are, and which weights and group sizes make the best of it.

    winnow pilot --task mix --set task_options.spread=0.5 --k 32 --prompts 500 --out runs/pilot
    python benchmarks/contrast_noise.py runs/pilot --json benchmarks/results/contrast-noise-middle.json

with spread 0 for ``-narrow`` and 1 for ``-wide``. The first 32 rollouts of a prompt are dealt to two halves of 16, its
right ones in turn and its wrong ones in turn: given the outcomes they are independent draws. Of each half come the mean
gradient of the log-probability of its right completions and that of its wrong ones, in the metric of Adam: divided by
the fourth root of the mean square of their difference. From these, without bias, for each prompt and side

- signal: the inner product with the gradient of the pass rate over all other prompts, per unit length of the latter;
- square: |E gradient|^2, the inner product of the halves;
- within: the trace of the covariance of a row, |difference of the halves|^2 / (1 / rows + 1 / rows).

With delta the expected right gradient minus the expected wrong one, that of log-odds, ``right`` and ``wrong`` of
`winnow.effect.Noise` are the mean of within over the variance of delta between prompts, mean |delta|^2 - |mean delta|^2
(the latter from pairs of different prompts), over prompts with two rollouts or more on either side; the intervals are
95% of the bootstrap over prompts.

The table is the signal to noise of a sum over groups of n, (mean signal)^2 / mean square, per rollout and per unit of
cost where a trained row costs ``price`` rollouts, the best size of grpo being 1. ``winnow`` is `Contrast`; ``paying``
adds the choice of rows of `Marginal`, ``measured`` means the noises of this pilot in place of the defaults. Groups are
all subsets of the 32 rollouts, counted exactly; a side with a single row has only its square, noise included, and needs
no more, as no group has two of it. Gradients are kept as sketches of 8,192 numbers.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from common import save
from winnow.effect import Noise, worth
from winnow.model.load import load
from winnow.model.prompts import encode_prompt
from winnow.objective.logprobs import completion_logprobs
from winnow.report.lines import lines
from winnow.rollout import Prompt

SKETCH, ROLLOUTS, ROUNDS = 8192, 32, 8
SIZES = (2, 3, 4, 8, 16)
BINS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 1.0)
Array = np.ndarray[Any, np.dtype[np.float64]]
Sides = tuple[Array, Array]
Rollouts = list[dict[str, Any]]


@dataclass(frozen=True)
class Prompts:
    """What was measured; arrays are (P, 2), right and wrong, unless they say otherwise."""

    rows: Array
    signal: Array
    square: Array
    within: Array
    cross: Array
    """(P,): inner product of the two sides."""
    delta: Array
    """(P, SKETCH): right minus wrong."""

    @property
    def whole(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(P,): both sides have the two rows that tell square from within."""
        return self.rows.min(1) >= 2

    @property
    def length(self) -> Array:
        """(P,): |delta|^2 without bias."""
        return self.square.sum(1) - 2 * self.cross


def read(folder: Path) -> list[Rollouts]:
    """Return the first rollouts of each prompt of a pilot."""
    groups: dict[str, Rollouts] = {}
    for line in lines(folder / "rollouts.jsonl"):
        if line.record is not None:
            groups.setdefault(line.record["prompt_id"], []).append(line.record)
    return [group[:ROLLOUTS] for group in groups.values() if len(group) >= ROLLOUTS]


class Gradients:
    """Gradients of a policy, sketched in the metric of Adam."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self._model, self._tokenizer = model.eval(), tokenizer
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        size = sum(p.numel() for p in self._parameters)
        rng = torch.Generator().manual_seed(0)
        self._bucket = torch.randint(0, SKETCH, (size,), generator=rng)
        self._sign = torch.randint(0, 2, (size,), generator=rng).float() * 2 - 1
        self._scale = torch.ones(size)

    def measure(self, halves: list[list[Rollouts]]) -> None:
        """Set the metric from the right and wrong rows of a few halves."""
        squares = torch.zeros_like(self._scale)
        for right, wrong in halves:
            squares += (self._mean(right) - self._mean(wrong)) ** 2 / len(halves)
        self._scale = (squares.sqrt() + 1e-8).rsqrt()

    def sketch(self, rollouts: Rollouts) -> Array:
        """Return the sketch of the mean gradient of rows of one prompt."""
        gradient = self._mean(rollouts) * self._scale * self._sign
        return torch.zeros(SKETCH).index_add_(0, self._bucket, gradient).double().numpy()

    def _mean(self, rollouts: Rollouts) -> torch.Tensor:
        self._model.zero_grad(set_to_none=True)
        prompt = encode_prompt(self._tokenizer, Prompt(rollouts[0]["prompt_id"], rollouts[0]["prompt"]))
        found = completion_logprobs(self._model, [prompt] * len(rollouts), [r["ids"] for r in rollouts])
        found.sum(1).mean().backward()
        return torch.cat([p.grad.flatten() for p in self._parameters if p.grad is not None])


def halves(group: Rollouts) -> list[list[Rollouts]]:
    """Return right and wrong rows of the two halves of a group."""
    right, wrong = ([r for r in group if (r["outcome"] > 0.5) is side] for side in (True, False))
    return [[right[0::2], wrong[1::2]], [right[1::2], wrong[0::2]]]


def measure(groups: list[Rollouts], gradients: Gradients) -> Prompts:
    """Return what the halves of every group say."""
    dealt = [halves(group) for group in groups]
    gradients.measure([half for half, _ in dealt[::4] if all(half)])
    rows = np.array([[[len(side) for side in half] for half in group] for group in dealt], float)
    total = rows.sum(1)
    sketches = np.zeros((*rows.shape, SKETCH))
    for place, half, side in np.argwhere((rows > 0) & (total.min(1) > 0)[:, None, None]).tolist():
        sketches[place, half, side] = gradients.sketch(dealt[place][half][side])
    mean = (sketches * rows[..., None]).sum(1) / np.maximum(total, 1)[..., None]
    delta = mean[:, 0] - mean[:, 1]
    # r w / (n (n - 1)) is p (1 - p) without bias, and p (1 - p) times the contrast is the gradient of p.
    rates_G = delta * (total.prod(1) / ROLLOUTS / (ROLLOUTS - 1))[:, None]
    others = (rates_G.sum(0) - rates_G) / (len(groups) - 1) / np.linalg.norm(rates_G.mean(0))
    both = rows.min(1) > 0
    product, apart = sketches.prod(1).sum(-1), ((sketches[:, 0] - sketches[:, 1]) ** 2).sum(-1)
    within = np.where(both, apart / (1 / np.maximum(rows, 1)).sum(1), 0.0)
    square = np.where(both, product, (mean**2).sum(-1))
    return Prompts(total, (mean * others[:, None]).sum(-1), square, within, mean.prod(1).sum(-1), delta)


def noises(prompts: Prompts, resamples: int = 2000) -> dict[str, Any]:
    """Return the noise of either side with its interval, and the variance between prompts that is their unit."""
    chosen = prompts.whole
    number = int(chosen.sum())
    gram = prompts.delta[chosen] @ prompts.delta[chosen].T
    drawn = np.random.default_rng(0).multinomial(number, np.full(number, 1 / number), resamples)
    counts = np.vstack([np.ones(number), drawn])
    pairs = ((counts @ gram) * counts).sum(1) - counts**2 @ gram.diagonal()
    common = pairs / (number**2 - (counts**2).sum(1))
    between = counts @ prompts.length[chosen] / number - common
    ratio = counts @ prompts.within[chosen] / number / between[:, None]
    low, high = np.quantile(ratio[1:], [0.025, 0.975], axis=0)
    right, wrong = np.stack([ratio[0], low, high], 1).tolist()
    return {"right": right, "wrong": wrong, "prompts": number, "between": between[0].item(),
            "common": (common / between)[0].item()}  # fmt: skip


def rules(r: Array, w: Array, chance: Array, price: float, own: Noise) -> dict[str, tuple[Sides, Sides]]:
    """Return weights of the two mean gradients, and rows that train, for r right and w wrong, by the name of a rule."""
    n, none, one = r + w, np.zeros_like(r), np.ones_like(r)

    def contrast(noise: Noise, price: float) -> tuple[Sides, Sides]:
        kept = worth(r, w, w / n, noise, 0.0)
        for _ in range(ROUNDS):
            rate = chance @ kept.effect / (n[0] + price * (chance @ kept.rows))
            kept = worth(r, w, w / n, noise, float(price * rate))
        scale = w / n / (1 + kept.precision)
        weights = scale * kept.right * w / n / noise.right, scale * kept.wrong * r / n / noise.wrong
        return weights, (kept.right.astype(float), kept.wrong.astype(float))

    alike = {"grpo": np.sqrt(r * w) / n, "rloo": r * w / n / (n - 1), "maxrl": w / n}
    return {
        **{name: ((weight, weight), (r, w)) for name, weight in alike.items()},
        "right alone": ((one, none), (r, none)),
        "one right row": ((one, none), (one, none)),
        "winnow": contrast(Noise(), 0.0),
        "winnow, paying": contrast(Noise(), price),
        "winnow, measured": contrast(own, 0.0),
        "winnow, measured, paying": contrast(own, price),
    }


def ratios(prompts: Prompts, price: float, own: Noise) -> list[dict[str, Any]]:
    """Return signal to noise of each rule, by size, relative to the best size of grpo, and the rows it trains on."""
    found: dict[str, list[list[float]]] = {}
    counts = prompts.rows.astype(int).tolist()
    for n in SIZES:
        ways = [[math.comb(right, k) * math.comb(wrong, n - k) for k in range(1, n)] for right, wrong in counts]
        chance = np.array(ways) / math.comb(ROLLOUTS, n) / len(ways)
        signal, square, within = (each.T @ chance for each in (prompts.signal, prompts.square, prompts.within))
        cross, mixed, r = prompts.cross @ chance, chance.sum(0), np.arange(1.0, n)
        for name, sides in rules(r, n - r, mixed, price, own).items():
            weight, kept = np.array(sides)
            power = (weight**2 * (square + within / np.maximum(kept, 1))).sum() - 2 * weight.prod(0) @ cross
            value = (weight[0] @ signal[0] - weight[1] @ signal[1]) ** 2 / power / n
            rows = (kept @ mixed).sum() / n
            found.setdefault(name, []).append([value, value / (1 + price * rows), rows])
    best = np.array([*np.array(found["grpo"]).max(0)[:2], 1.0])
    values = {name: (np.array(each) / best).T.tolist() for name, each in found.items()}
    return [{"rule": name, "rollout": each[0], "cost": each[1], "rows": each[2]} for name, each in values.items()]


def by_rate(prompts: Prompts, between: float) -> list[dict[str, Any]]:
    """Return signal and noise by pass rate, in units of the variance between all prompts (signal: of its root)."""
    found, rate = [], prompts.rows[:, 0] / ROLLOUTS
    for low, high in itertools.pairwise(BINS):
        chosen = prompts.whole & (rate >= low) & (rate < high)
        if chosen.any():
            signal = prompts.signal[chosen].mean(0) @ (1, -1) / between**0.5
            units = np.array([prompts.length[chosen].mean(), *prompts.within[chosen].mean(0)]) / between
            names = ("from", "to", "prompts", "signal", "square", "right", "wrong")
            found.append(dict(zip(names, (low, high, int(chosen.sum()), float(signal), *units.tolist()), strict=True)))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pilot", type=Path, help="folder of a pilot with k of 32 or more")
    parser.add_argument("--model", default=None, help="the policy of the pilot; default: the built-in one")
    parser.add_argument("--price", type=float, default=1.0)
    parser.add_argument("--json", default=None)
    chosen = parser.parse_args()
    policy = load(chosen.model)
    prompts = measure(read(chosen.pilot), Gradients(policy.model, policy.tokenizer))
    noise = noises(prompts)
    table = ratios(prompts, chosen.price, Noise(noise["right"][0], noise["wrong"][0]))
    rates = by_rate(prompts, noise["between"])
    print("right {:.3f} [{:.3f}, {:.3f}]\nwrong {:.3f} [{:.3f}, {:.3f}]".format(*noise["right"], *noise["wrong"]))
    for row in rates:
        print("pass rate {from:.2f}-{to:.2f}: {prompts:3} prompts, signal {signal:.3f}, |delta|^2 {square:.2f}, "
              "right {right:.3f}, wrong {wrong:.2f}".format(**row))  # fmt: skip
    print(" " * 26 + "   ".join(f"{kind:^29}" for kind in ("per rollout", "per cost", "rows per rollout")))
    print(" " * 26 + "   ".join([" ".join(f"{n:5}" for n in SIZES)] * 3))
    for row in table:
        values = (" ".join(f"{value:5.2f}" for value in row[kind]) for kind in ("rollout", "cost", "rows"))
        print(f"{row['rule']:26}" + "   ".join(values))
    if chosen.json:
        settings = json.loads((chosen.pilot / "pilot.json").read_text()).get("settings")
        save(chosen.json, {"pilot": settings, "noise": noise, "by_rate": rates, "sizes": SIZES, "ratios": table})


if __name__ == "__main__":
    main()
