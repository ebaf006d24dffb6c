"""The rollouts of earlier steps that a recipe may ask for again, as the trainer keeps them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace
from typing import Any

import numpy as np

from winnow.batch import TrainBatch
from winnow.objective import Row
from winnow.objective.config import Objective, Totals
from winnow.rollout import Rollout
from winnow.train.collect import Collected
from winnow.train.encoding import Split
from winnow.train.update import beginning


class Stored:
    """Rollouts by the number that `winnow.TrainBatch.handles` gave them, with the ids of their prompts."""

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._rows)

    def rows(self, batch: TrainBatch, objective: Objective) -> tuple[list[Row], Totals]:
        """Return the rows that train again in this step, and the denominators with which all rows of it do.

        A mean of their own beside that of the fresh rows: the learner divides all by what the fresh ones count, so
        their weights carry the ratio of the two counts. Jointly, they are counted with the fresh ones.
        """
        totals = Totals(batch.kept_rows, batch.kept_tokens, batch.full_rows, batch.full_tokens)
        recalled = batch.recalled
        if recalled is None or not len(recalled.handles):
            return [], totals
        kept = [self._rows[handle] for handle in recalled.handles.tolist()]
        again = Totals(*(len(kept), sum(len(row.ids) for row in kept)) * 2)
        unit, share = replace(objective, constant_length=objective.constant_length or 1), 1.0
        if not unit.divisor(totals):
            totals = again
        elif recalled.joint:
            totals = Totals(*(map(sum, zip(astuple(totals), astuple(again), strict=True))))
        else:
            share = unit.divisor(totals) / unit.divisor(again)
        rows = [
            Row(row.prompt_ids, row.ids, row.logprobs, float(advantage), recalled.strength * share)
            for row, advantage in zip(kept, recalled.advantages, strict=True)
        ]
        return rows, totals

    def keep(self, split: Split, collected: Collected) -> None:
        """Take in what a step drew, and let go of what will not be asked for again."""
        batch = collected.batch
        if batch.handles is None or batch.dropped is None:
            return
        for handle, rollout in zip(batch.handles.tolist(), collected.rollouts, strict=True):
            if handle >= 0:
                self._rows[handle] = _stripped(split, rollout)
        for handle in batch.dropped.tolist():
            self._rows.pop(handle, None)

    def state_dict(self) -> dict[str, Any]:
        """Return flat arrays, for a checkpoint."""
        rows = list(self._rows.values())
        return {
            "handles": np.array(list(self._rows), np.int64),
            "prompt_lengths": np.array([len(row.prompt_ids) for row in rows], np.int64),
            "lengths": np.array([len(row.ids) for row in rows], np.int64),
            "prompt_ids": np.array([token for row in rows for token in row.prompt_ids], np.int64),
            "ids": np.concatenate([row.ids for row in rows] or [np.zeros(0, np.int64)]),
            "logprobs": np.concatenate([row.logprobs for row in rows] or [np.zeros(0, np.float32)]),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        prompts = np.split(state["prompt_ids"], np.cumsum(state["prompt_lengths"])[:-1])
        ends = np.cumsum(state["lengths"])[:-1]
        parts = zip(prompts, np.split(state["ids"], ends), np.split(state["logprobs"], ends), strict=True)
        self._rows = {
            int(handle): Row(prompt.tolist(), ids, logprobs, 0.0)
            for handle, (prompt, ids, logprobs) in zip(state["handles"], parts, strict=False)
        }


def _stripped(split: Split, rollout: Rollout) -> Row:
    return Row(beginning(split, rollout), rollout.ids, rollout.logprobs, 0.0)
