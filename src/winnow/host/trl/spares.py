"""Further prompts for recipes that replace groups without signal, drawn beside TRL's sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow.batch import TrainBatch
from winnow.curriculum import Epochs
from winnow.errors import ConfigError
from winnow.host.trl.draw import Example
from winnow.recipe import Recipe
from winnow.train.seeds import derive


class Spares:
    """Draws ``pool - 1`` spare prompts for each prompt of TRL's sampler, the same on every rank.

    Their order is a shuffle of the same dataset with a seed of its own, so a prompt may come up both as a spare and in
    its turn. Spares that were not used come first the next time.

    Args:
        recipe: says how large the pool is; 1 draws nothing.
        dataset: the training dataset.
        seed: of the run.

    Raises:
        ConfigError: the dataset cannot be indexed, and the recipe needs spares.
    """

    def __init__(self, recipe: Recipe, dataset: Any, seed: int) -> None:
        self._each = recipe.pool - 1
        self._dataset = dataset
        self._order: Epochs | None = None
        self._drawn = 0
        if self._each and not hasattr(dataset, "__len__"):
            raise ConfigError(
                f"recipe {recipe.name!r} draws spare prompts (pool={recipe.pool}), and a streamed dataset has no other "
                "prompts at hand: load it as a Dataset, or set pool=1"
            )
        if self._each:
            self._order = Epochs(len(dataset), derive(seed, "order"))

    def next(self, prompts: int) -> list[Example]:
        """Return the spares of a step over ``prompts`` prompts."""
        if self._order is None:
            return []
        self._before = self._order.state_dict()
        self._drawn = min(self._each * prompts, len(self._dataset))
        return [dict(self._dataset[place]) for place in self._order.next(self._drawn)]

    def give_back(self, batch: TrainBatch) -> None:
        """Put the spares that were not looked at back in front; spares are the last prompts of a step."""
        if self._order is None:
            return
        used = max(0, batch.visited - (len(batch.counts) - self._drawn))
        if used < self._drawn:
            self._order.load_state_dict(self._before)
            if used:
                self._order.next(used)

    def state_dict(self) -> dict[str, Any]:
        """Return the position, for a checkpoint."""
        return {} if self._order is None else self._order.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from `state_dict`.

        Raises:
            ConfigError: the state belongs to another dataset or seed.
        """
        if self._order is not None and state:
            self._order.load_state_dict(state)
