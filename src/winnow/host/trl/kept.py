"""The rows that train, dealt out to the ranks; what each rank then hands to TRL in place of a generation batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from winnow.groups import FloatArray, IntArray
from winnow.host.trl.draw import Drawn, Example, Row
from winnow.host.trl.ranks import Ranks
from winnow.objective.config import Objective

ROW_MEANS = ("grpo", "bnpo", "dr_grpo", "sapo", "luspo")
"""Losses of TRL that average over the rows of a micro-batch."""

TOKEN_MEANS = ("dapo", "cispo", "vespo")
"""Losses of TRL that divide by the tokens of the generation batch (``num_items_in_batch``)."""


@dataclass(frozen=True)
class Kept:
    """The rows of this rank, and what is known about those of all ranks, in the order of ranks.

    Every rank has equally many rows, a multiple of ``steps_per_generation``, so that all of them make the same
    forward passes: a rank, or a slice, with nothing to train has padding rows, which are masked out of the loss and of
    every mean.

    Attributes:
        rows: of this rank (R,), padding last.
        examples: their rows of the dataset.
        real: bool (R,), False for padding.
        advantages: float64 (R,) advantage times weight; 0 for padding.
        all_real: bool (ranks x R,).
        all_advantages: float64 (ranks x R,).
        all_parts: float64 (ranks x R, F) values of the reward functions, NaN for padding.
        padding: padding rows of all ranks.
    """

    rows: Sequence[Row]
    examples: Sequence[Example]
    real: npt.NDArray[np.bool_]
    advantages: FloatArray
    all_real: npt.NDArray[np.bool_]
    all_advantages: FloatArray
    all_parts: FloatArray
    padding: int

    def generated(self) -> tuple[Any, ...]:
        """Return what `GRPOTrainer._generate` returns.

        Ids of prompts and completions, mask of tools, completions, log-probabilities, extra fields, images of prompts
        and of tools.
        """
        prompt_ids = [list(row.prompt_ids) for row in self.rows]
        ids = [list(row.ids) for row in self.rows]
        completions = [row.completion for row in self.rows]
        known = all(row.logprobs is not None for row in self.rows)
        logprobs = [list(row.logprobs or ()) for row in self.rows] if known else None
        return prompt_ids, ids, None, completions, logprobs, {}, None, []


def deal(drawn: Drawn, ranks: Ranks, slices: int, stop_id: int) -> Kept:
    """Deal the kept rows of a step out to the ranks, in the order told, as evenly as whole rows allow.

    Args:
        drawn: the step.
        ranks: the processes; the rows travel between them.
        slices: micro-batches that TRL cuts the rows of a rank into.
        stop_id: the one token of a padding row.
    """
    batch = drawn.batch
    mine = [drawn.rows[number] for number in batch.rows.tolist() if number in drawn.rows]
    found = sorted(ranks.gather(mine), key=lambda row: row.number)
    shares = np.array_split(np.arange(len(found)), ranks.size)
    each = max(1, math.ceil(len(shares[0]) / slices)) * slices
    places: IntArray = np.full((ranks.size, each), -1, np.int64)
    for rank, share in enumerate(shares):
        places[rank, : len(share)] = share
    # A padding row repeats a real prompt: attention over nothing would not be finite.
    shortest = min(found or _local(drawn, ranks), key=lambda row: (len(row.prompt_ids), row.number))
    blank = _blank(shortest, stop_id)
    rows = [found[place] if place >= 0 else blank for place in places[ranks.rank].tolist()]
    flat, worth = places.reshape(-1), np.append(batch.advantages * batch.weights, 0.0)
    nothing = np.full((1, drawn.parts.shape[1]), np.nan)
    return Kept(
        rows=rows,
        examples=[drawn.examples[row.prompt] for row in rows],
        real=places[ranks.rank] >= 0,
        advantages=worth[places[ranks.rank]],
        all_real=flat >= 0,
        all_advantages=worth[flat],
        all_parts=np.concatenate((drawn.parts[batch.rows], nothing))[flat],
        padding=int(np.count_nonzero(flat < 0)),
    )


def _local(drawn: Drawn, ranks: Ranks) -> list[Row]:
    """Return one rollout of the step, for a step that keeps none."""
    return ranks.gather(list(drawn.rows.values())[:1])


def _blank(row: Row, stop_id: int) -> Row:
    completion: Any = "" if isinstance(row.completion, str) else [{"role": "assistant", "content": ""}]
    logprobs = None if row.logprobs is None else [0.0]
    return replace(row, number=-1, ids=[stop_id], completion=completion, logprobs=logprobs, extra={})


def loss_scale(loss_type: str, objective: Objective, drawn: Drawn, places: int) -> float:
    """Return the factor on a micro-batch's loss that makes kept rows, not places in the batch, the denominator.

    Args:
        loss_type: of TRL; losses over tokens get their denominator as ``num_items_in_batch`` instead: factor 1.
        objective: says whether all scorable rows count (``denominator="full"``) or the kept ones.
        drawn: the step.
        places: rows of all ranks, padding included: what TRL divides by.
    """
    if loss_type in TOKEN_MEANS:
        return 1.0
    rows = drawn.batch.full_rows if objective.denominator == "full" else drawn.batch.kept_rows
    return places / rows if rows else 0.0


def complete(output: dict[str, Any], drawn: Drawn, kept: Kept, loss_type: str, objective: Objective) -> None:
    """Put what TRL could not know into its generation batch: advantages, denominators, and which rows are padding.

    Args:
        output: what TRL made of the kept rows of this rank; changed in place.
        drawn: the step.
        kept: the rows.
        loss_type: of TRL.
        objective: of the recipe.
    """
    like = output["num_items_in_batch"]
    real = torch.tensor(kept.real, device=like.device)
    output["advantages"] = torch.tensor(kept.advantages, dtype=torch.float32, device=like.device)
    output["completion_mask"] = output["completion_mask"] * real[:, None]
    full = objective.denominator == "full" and loss_type in TOKEN_MEANS
    output["num_items_in_batch"] = torch.full_like(like, drawn.batch.full_tokens) if full else like - kept.padding
    output["winnow_real"] = real
    scale = loss_scale(loss_type, objective, drawn, len(kept.all_real))
    output["winnow_scale"] = torch.tensor(scale, dtype=torch.float32, device=like.device)
