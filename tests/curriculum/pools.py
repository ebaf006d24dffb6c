"""An imaginary pool of prompts with known success rates, and runs of a recipe over it."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import winnow
from winnow.about import DECLARED
from winnow.candidates import Candidates
from winnow.curriculum import Epochs
from winnow.feedback import Feedback
from winnow.recipe import Recipe


@dataclass
class Played:
    """Shares over a run: groups with signal among those drawn, visits per prompt, prompts per step."""

    signal: float
    rollouts: int
    visits: np.ndarray
    opened: list[list[int]]


def declared(name: str, **settings) -> Recipe:
    """The recipe that a rule declares in its own file, with some settings changed."""
    about, parts = DECLARED[name]
    return Recipe(name, about=about, **parts()).override(**settings)


def rates(size: int, seed: int, a: float = 0.3, b: float = 0.3) -> np.ndarray:
    """Success rates of a pool in which most prompts are solved or out of reach."""
    return np.random.default_rng(seed).beta(a, b, size)


def play(
    recipe: Recipe | str,
    chances: np.ndarray,
    *,
    steps: int = 60,
    prompts: int = 8,
    seed: int = 0,
    features: np.ndarray | None = None,
    moved: Callable[[np.ndarray, int], np.ndarray] | None = None,
) -> Played:
    """Run a recipe over a pool, prompts offered in shuffled epochs, a group for each prompt opened.

    A recipe that is given remembers the run; one that is named is made anew.
    """
    rule = winnow.recipe(recipe) if isinstance(recipe, str) else recipe
    epochs, rng = Epochs(len(chances), seed), np.random.default_rng((seed, 1))
    visits, signal, rollouts, opened = np.zeros(len(chances), int), [], 0, []
    for number in range(steps):
        now = chances if moved is None else moved(chances, number)
        before = epochs.state_dict()
        offered = np.array(epochs.next(prompts * rule.pool))
        given = None if features is None else features[offered]
        step = rule.begin(len(offered), seed=seed * 100_003 + number, ids=offered, features=given)
        while not step.done:
            for place, count in step.ask():
                step.tell([place] * count, (rng.random(count) < now[offered[place]]).astype(float))
        batch = step.finish()
        if batch.visited < len(offered):
            epochs.load_state_dict(before)
            epochs.next(batch.visited)
        drawn = batch.counts > 0
        visits[offered[drawn]] += 1
        opened.append(offered[drawn].tolist())
        signal += batch.signal[drawn].tolist()
        rollouts += int(batch.counts.sum())
    return Played(float(np.mean(signal)), rollouts, visits, opened)


def features(chances: np.ndarray, seed: int, size: int = 32) -> np.ndarray:
    """Unit vectors, mostly noise, of which one direction grows with the logit of the success rate."""
    rng = np.random.default_rng((seed, 2))
    logits = np.clip(np.log(chances + 1e-9) - np.log(1 - chances + 1e-9), -3, 3)
    direction = rng.standard_normal(size) / np.sqrt(size)
    vectors = rng.standard_normal((len(chances), size)) + logits[:, None] * direction
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def replayed(recipe: Recipe, again: Recipe, chances: np.ndarray, **settings) -> bool:
    """Whether ``again``, given the state of ``recipe`` as text, makes the same choices from there on."""
    play(recipe, chances, steps=12, **settings)
    again.load_state_dict(json.loads(json.dumps(recipe.state_dict())))
    same = again.state_dict() == recipe.state_dict()
    first, second = (play(one, chances, steps=8, seed=9, **settings).opened for one in (recipe, again))
    return same and first == second and again.state_dict() == recipe.state_dict()


def feedback(ids, successes, valid, features=None, **more) -> Feedback:
    """What a step with these successes among these scorable rollouts tells."""
    wins, counts = np.asarray(successes, int), np.broadcast_to(np.asarray(valid, int), len(ids))
    with np.errstate(invalid="ignore"):
        mean = wins / np.where(counts > 0, counts, np.nan)
    nothing = np.zeros(0)
    kind = more.pop("kind", Feedback)
    return kind(
        prompts=Candidates.of(ids, features), counts=counts, valid=counts, successes=wins, mean=mean,
        signal=(wins > 0) & (wins < counts), worth=np.zeros(len(ids)), rewards=nothing, outcomes=nothing,
        owners=np.zeros(0, int), **more,
    )  # fmt: skip
