"""Prompts that occur more than once: with the same gold, with another, or on both sides of the split."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from winnow.rollout import Prompt
from winnow.task.golds import shown
from winnow.task.problems import CONFLICT, OVERLAP, REPEATED, Problem
from winnow.task.split import content_key

Where = Callable[[int], str]
_SHOWN = 5


def row_of(prompt: Prompt) -> int:
    """The number of the row a prompt came from."""
    return int(prompt.id.rpartition(":")[2])


def repeats(prompts: Sequence[Prompt], where: Where, column: str) -> list[Problem]:
    """Find rows that repeat the prompt of an earlier row, with the same gold or with another.

    A row is compared with the first that has its prompt. Linear in the number of prompts.

    Args:
        prompts: the prompts of one split.
        where: says where a row stands.
        column: the column of the gold answer, for the problems.
    """
    first: dict[str, Prompt] = {}
    golds: dict[str, set[str | None]] = {}
    found = []
    for prompt in prompts:
        key = content_key(prompt.content)
        earlier = first.setdefault(key, prompt)
        if earlier is prompt:
            continue
        known = golds.setdefault(key, {earlier.answer})
        place = where(row_of(earlier))
        if prompt.answer in known:
            what = "prompt" if prompt.answer is None else "prompt and gold"
            found.append(Problem(row_of(prompt), f"the {what} of {place} again", REPEATED))
        else:
            text = f"gold {shown(prompt.answer)}, but {shown(earlier.answer)} for the same prompt in {place}"
            found.append(Problem(row_of(prompt), text, CONFLICT, column))
        known.add(prompt.answer)
    return found


def overlap(train: Sequence[Prompt], test: Sequence[Prompt], where_test: Where, column: str) -> list[Problem]:
    """Find the prompts of ``train`` that are also in ``test``.

    Args:
        train: the prompts to train on.
        test: the prompts to test on.
        where_test: says where a row of ``test`` stands.
        column: the column of the prompt, for the problems.
    """
    tested = {content_key(prompt.content): row_of(prompt) for prompt in reversed(test)}
    return [
        Problem(row_of(prompt), f"also in {where_test(row)}", OVERLAP, column)
        for prompt in train
        if (row := tested.get(content_key(prompt.content))) is not None
    ]


def summary(problems: Sequence[Problem], source: str, where: Where, test_source: str = "") -> list[str]:
    """Say in a line per kind what `repeats` and `overlap` found."""
    by_kind = {kind: [p for p in problems if p.kind is kind] for kind in (CONFLICT, REPEATED, OVERLAP)}
    found = []
    if conflicts := by_kind[CONFLICT]:
        named = "; ".join(f"{where(p.number)}: {p.text}" for p in conflicts[:_SHOWN])
        more = f" and {len(conflicts) - _SHOWN} more" if len(conflicts) > _SHOWN else ""
        found.append(
            f"{source}: the same prompt with different golds, {named}{more}; all are kept, as prompts of their own"
        )
    if again := by_kind[REPEATED]:
        found.append(
            f"{source}: rows that repeat the prompt and gold of an earlier one: {len(again)} (the first is "
            f"{where(again[0].number)})"
        )
    if both := by_kind[OVERLAP]:
        found.append(
            f"{len(both)} prompts of {source} are also in {test_source} (the first is {where(both[0].number)}): "
            "accuracy on them is not held out"
        )
    return found
