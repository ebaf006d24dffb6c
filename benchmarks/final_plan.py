"""What `benchmarks/final.py` runs: tasks, contenders, and the settings that are tried for each.

Two of the tasks were used while the recipe `winnow` was designed (`DESIGN`); the others were kept for this comparison.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import winnow
from winnow.compare.leaderboard.plan import COMMON, Cell, Stage, digest

DESIGN = ("middle", "wide")
TUNING_SEEDS = (100, 101)
"""The first judges every setting, the second the best `FINALISTS` again; neither is a seed of the result."""
FINALISTS = 4


@dataclass(frozen=True)
class Bench:
    """A task at the size it is compared at.

    Attributes:
        settings: training settings, keys inside tables dotted.
        rates: learning rates tried.
        step: rollouts a step begins with.
        rollouts: of every run, tuning runs too.
        evaluations: during a run that counts, besides the one before it.
        samples: completions of each held-out prompt.
        prompts: held-out prompts of an evaluation.
        seeds: of the result.
        second: whether the best settings are judged on a second tuning seed.
        few: a run takes minutes, so that only the contenders in `FEW` are run, with groups of 4 and 8.
    """

    settings: Mapping[str, Any]
    rates: tuple[float, ...] = (1.5e-4, 3e-4, 6e-4)
    step: int = 128
    rollouts: int = 3840
    evaluations: int = 6
    samples: int = 2
    prompts: int = 256
    seeds: int = 10
    second: bool = True
    few: bool = False


_CHAT: Mapping[str, Any] = {"chat": True, "slots": 64}
_SMOL: Mapping[str, Any] = {"rates": (1e-5, 2e-5), "step": 64, "rollouts": 1920, "evaluations": 6, "samples": 4}


def benches(model: Path | None, svamp: Path | None, sums: Path) -> dict[str, Bench]:
    """Return the tasks by name; those of the language model only where its folder is given.

    Args:
        model: folder that ``winnow model smollm2`` wrote.
        svamp: ``SVAMP.json``.
        sums: where the sums are written.
    """
    found = {
        **{
            name: Bench({"task": "mix", "task_options.spread": spread})
            for name, spread in (("narrow", 0.0), ("middle", 0.5), ("wide", 1.0))
        },
        "chain": Bench(
            {
                "task": "reasoning-gym:chain_sum", "model": "built-in", "task_options.test_size": 256,
                "task_options.max_terms": 2, "task_options.max_digits": 3,
            }
        ),
        "code": Bench({"task": "code"}, rates=(1.5e-4, 3e-4), rollouts=2560, evaluations=5, prompts=128, few=True),
    }  # fmt: skip
    if model is not None:
        real = {"model": str(model), **_CHAT}
        write_sums(sums)
        found["sums"] = Bench(
            {**real, "task": str(sums), "max_new_tokens": 16}, seeds=3, prompts=96, second=False, few=True, **_SMOL
        )
        if svamp is not None:
            found["svamp"] = Bench(
                {**real, "task": str(svamp), "max_new_tokens": 32}, seeds=3, prompts=96, second=False, few=True, **_SMOL
            )
    return found


@dataclass(frozen=True)
class Contender:
    """A recipe and the sizes of it that are tried, each with every rate.

    One that is ``like`` another is not tuned: it is run on the tasks of `DESIGN` at the rate of the other, to show what
    a setting does.
    """

    recipe: str
    sizes: tuple[Mapping[str, Any], ...]
    like: str = ""


def _groups(*sizes: int) -> tuple[Mapping[str, Any], ...]:
    return tuple({"n": n} for n in sizes)


def _like(**options: Any) -> Contender:
    return Contender("winnow", ({f"recipe_options.{name}": value for name, value in options.items()},), "winnow")


CONTENDERS: Mapping[str, Contender] = {
    "grpo": Contender("grpo", _groups(2, 4, 8, 16)),
    "grpo, n = 8": Contender("grpo", _groups(8)),
    "maxrl": Contender("maxrl", _groups(2, 4, 8, 16)),
    "reinforce-rej": Contender("reinforce-rej", _groups(2, 4, 8, 16)),
    "difficulty-band": Contender("difficulty-band", _groups(4, 8, 16)),
    "vigor": Contender("vigor", _groups(8, 12, 16)),
    "pods": Contender("pods", ({"n": 8, "m": 4}, {"n": 16, "m": 4}, {"n": 16, "m": 8}, {"n": 32, "m": 8})),
    "winnow": Contender("winnow", ({},)),
    "winnow, streaming": _like(waves=0),
    "winnow, one round": _like(waves=1),
    "winnow, all rows": _like(price=0.0),
    "winnow, both sides alike": _like(noise_right=0.67, noise_wrong=0.67),
    "winnow, dear prompts": Contender("winnow", ({"recipe_options.opening": 12.0},)),
}
"""GRPO's prompts and group size are part of its tuning; ``grpo, n = 8`` is the group size of the papers. ``winnow, dear
prompts`` is for the regimes in which a prompt costs as much as 75 rollouts; 12 was chosen on the tasks of `DESIGN`."""
FEW = ("grpo", "grpo, n = 8", "maxrl", "reinforce-rej", "winnow", "winnow, dear prompts")


def tuning(label: str, task: str, bench: Bench, seed: int) -> list[Cell]:
    """Return the runs that judge every setting of a contender on one seed."""
    sizes = [size for size in CONTENDERS[label].sizes if not bench.few or size.get("n", 4) in (4, 8)]
    return [_cell("tune", label, task, bench, size, rate, seed) for size in sizes for rate in bench.rates]


def entered(labels: Sequence[str], task: str, bench: Bench) -> list[str]:
    """Return the contenders that are run on a task."""
    return [label for label in labels if (task in DESIGN if CONTENDERS[label].like else not bench.few or label in FEW)]


def again(cell: Cell, task: str, bench: Bench, seed: int) -> Cell:
    """Return the same tuning run on another seed."""
    return _cell("tune", cell.recipe, task, bench, size_of(cell), cell.lr, seed)


def finals(chosen: Mapping[str, tuple[Mapping[str, Any], float]], task: str, bench: Bench) -> Iterator[Cell]:
    """Yield the runs that count, seed by seed over all contenders; ``chosen`` has their size and rate."""
    for seed in range(bench.seeds):
        for label, (size, rate) in chosen.items():
            yield _cell("final", label, task, bench, size, rate, seed)


def size_of(cell: Cell) -> dict[str, Any]:
    """Return the size a cell was made with."""
    own = ("n", "m", "recipe_options.")
    return {name: value for name, value in cell.settings.items() if name in own or name.startswith(own[-1])}


def _cell(stage: Stage, label: str, task: str, bench: Bench, size: Mapping[str, Any], rate: float, seed: int) -> Cell:
    recipe = CONTENDERS[label].recipe
    n = size.get("n", winnow.recipe(recipe).allocation.n)
    every = max(1, bench.rollouts // bench.step // bench.evaluations)
    settings: dict[str, Any] = {
        **COMMON, **bench.settings, "recipe": recipe, **size, "prompts_per_step": bench.step // n,
        "rollouts": bench.rollouts, "eval_prompts": bench.prompts, "eval_samples": bench.samples,
        "eval_every": every if stage == "final" else 0, "seed": seed, "lr": rate,
    }  # fmt: skip
    return Cell(stage, label, task, seed, rate, settings, digest(settings, recipe))


def write_sums(path: Path) -> None:
    """Write the 576 sums of two numbers from 1 to 24 as a JSONL task."""
    pairs = [(a, b) for a in range(1, 25) for b in range(1, 25)]
    random.Random(0).shuffle(pairs)
    lines = [json.dumps({"prompt": f"What is {a} + {b}?", "answer": str(a + b)}) for a, b in pairs]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def best(scores: Sequence[tuple[Cell, float]], count: int) -> list[tuple[Cell, float]]:
    """Return the ``count`` best, ties to the smaller rate and size first tried."""
    return sorted(scores, key=lambda pair: -pair[1])[:count]
