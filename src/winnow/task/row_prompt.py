"""From a row to a prompt."""

from __future__ import annotations

from winnow.rollout import Prompt
from winnow.task import problems as kinds
from winnow.task.columns import ABSENT, Columns, lookup
from winnow.task.golds import gold_text
from winnow.task.options import FileOptions
from winnow.task.problems import RowError
from winnow.task.prompts import check_text, content_of, take_last_turn
from winnow.task.rows import Row


def prompt_of(row: Row, split: str, columns: Columns, options: FileOptions, needs_gold: bool) -> Prompt:
    """Build the prompt of a row, with its gold answer as text and all its columns.

    Args:
        row: the row.
        split: first part of the prompt's id; the second is the row's number.
        columns: where prompt and gold stand.
        options: template, system message, and what to do with a last turn of the assistant.
        needs_gold: whether a row without a gold is of no use.

    Raises:
        RowError: if the row cannot be used.
    """
    values = [lookup(row.values, name) for name in columns.prompt]
    named = ",".join(columns.prompt)
    if all(value is ABSENT for value in values):
        raise RowError(f"no column {columns.prompt[0]!r}", kinds.PROMPT, named)
    values = [None if value is ABSENT else value for value in values]
    turn = None
    try:
        if options.last_turn != "refuse":
            values, turn = take_last_turn(values)
        content = content_of(values, options.template, options.system)
        check_text("prompt", content if isinstance(content, str) else "".join(m["content"] for m in content))
    except ValueError as error:
        raise RowError(str(error), kinds.PROMPT, named) from None
    try:
        answer = _gold(row, columns, turn if options.last_turn == "gold" else None, options, needs_gold)
        check_text("gold", answer or "")
    except ValueError as error:
        raise RowError(str(error), kinds.GOLD, columns.answer or named) from None
    return Prompt(f"{split}:{row.number}", content, answer, row.values)


def _gold(row: Row, columns: Columns, turn: str | None, options: FileOptions, needed: bool) -> str | None:
    if options.last_turn == "gold":
        if turn is None and needed:
            raise ValueError("the conversation does not end in a turn of 'assistant' to take as the gold")
        return None if turn is None else gold_text(turn)
    if columns.answer is None:
        return None
    value = lookup(row.values, columns.answer)
    if value is ABSENT and needed:
        raise ValueError(f"no column {columns.answer!r}")
    if not needed and (value is ABSENT or value is None):
        return None
    return gold_text(value)
