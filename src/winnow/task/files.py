"""Tasks from data files: JSONL, JSON and Parquet with column mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from winnow import errors
from winnow.reward import ChecksColumns, ChecksGolds, Exact, Reward
from winnow.reward import load as load_reward
from winnow.reward.rationals import rational
from winnow.rollout import Prompt
from winnow.task.columns import ABSENT, Columns, choose, lookup
from winnow.task.golds import gold_text
from winnow.task.options import FileOptions
from winnow.task.prompts import check_text, content_of
from winnow.task.read import read
from winnow.task.record import Task, fingerprint
from winnow.task.rows import Problem, Row, Rows
from winnow.task.split import content_key, held_out


def load(path: Path | str, seed: int = 0, options: Mapping[str, Any] | None = None) -> Task:
    """Load a task from a data file; every row is checked before anything is trained.

    Args:
        path: the file.
        seed: not used: which rows are held out depends on the rows alone.
        options: see `winnow.task.options.FileOptions`.

    Raises:
        ConfigError: for a bad option or reward.
        DataError: if the file or rows in it cannot be used, with file and line.
        MissingExtra: if Parquet or the reward needs a package that is not installed.
    """
    path = Path(path)
    chosen = FileOptions.of(options or {})
    judge = load_reward(chosen.reward, **chosen.reward_options) if chosen.reward else None
    train, notes = read_prompts(path, "train", chosen, judge, chosen.limit)
    if judge is None:
        judge, note = _default_reward(train, chosen.reward_options)
        notes.append(note)
    if chosen.test_path is not None:
        test_path = Path(chosen.test_path).expanduser()
        test, more = read_prompts(test_path, "test", chosen, judge, chosen.test_limit)
        notes += more + _overlap(train, test, path.name, test_path.name)
    else:
        keys = [content_key(prompt.content) for prompt in train]
        out = held_out(keys, chosen.test_fraction, chosen.test_limit)
        test = [_rename(prompt, "test") for prompt, is_out in zip(train, out, strict=True) if is_out]
        train = [prompt for prompt, is_out in zip(train, out, strict=True) if not is_out]
    notes.append(f"{len(train)} prompts to train on, {len(test)} held out")
    return Task(str(path), train, test, judge, fingerprint(train, test), tuple(notes))


def read_prompts(
    path: Path, split: str, options: FileOptions, judge: Reward | None, limit: int | None
) -> tuple[list[Prompt], list[str]]:
    """Read the prompts of one file.

    Args:
        path: the file.
        split: first part of every id (``train:17``); the number is that of the line.
        options: the columns, template and what to do with bad rows.
        judge: the reward that will see the prompts, or None if it is still to be chosen.
        limit: the first rows to read, or None.

    Returns:
        The prompts in the order of the file, and notes.

    Raises:
        ConfigError: if the reward asks for a column that is not there.
        DataError: if the file, its columns or (unless they are to be dropped) any of its rows cannot be used.
    """
    rows = read(path, options.format)
    notes: list[str] = []
    if limit is not None and limit < len(rows.rows):
        setting = "limit" if split == "train" else "test_limit"
        notes.append(f"{path.name}: the first {limit} of {len(rows.rows)} rows ({setting})")
        last = rows.rows[limit - 1].number
        rows.rows = rows.rows[:limit]
        rows.problems = [problem for problem in rows.problems if problem.number <= last]
    needs_gold = judge is None or (isinstance(judge, ChecksGolds) and judge.needs_gold)
    problems = list(rows.problems)
    prompts: list[Prompt] = []
    if rows.rows:
        columns = choose(path.name, rows.columns, options.prompt_column, options.answer_column, needs_gold)
        if judge is not None and isinstance(judge, ChecksColumns):
            judge.check_columns(rows.columns, has_answers=columns.answer is not None)
        if columns.guessed:
            notes.append(
                f"{path.name}: prompt from {' and '.join(columns.prompt)}, answer from {columns.answer or 'no column'}"
            )
        for row in rows.rows:
            try:
                prompts.append(_prompt(row, split, columns, options, judge, needs_gold))
            except ValueError as error:
                problems.append(Problem(row.number, str(error)))
    notes += _settle(path, rows, problems, len(prompts), options.drop_bad_rows)
    return prompts, notes + _conflicts(prompts, rows)


def _prompt(
    row: Row, split: str, columns: Columns, options: FileOptions, judge: Reward | None, needs_gold: bool
) -> Prompt:
    values = [lookup(row.values, name) for name in columns.prompt]
    if all(value is ABSENT for value in values):
        raise ValueError(f"no column {columns.prompt[0]!r}")
    content = content_of([None if v is ABSENT else v for v in values], options.template, options.system)
    answer = None
    if columns.answer is not None:
        value = lookup(row.values, columns.answer)
        if value is ABSENT and needs_gold:
            raise ValueError(f"no column {columns.answer!r}")
        if needs_gold or not (value is ABSENT or value is None):
            answer = gold_text(value)
    if answer is not None and judge is not None and isinstance(judge, ChecksGolds):
        reason = judge.unreadable(answer)
        if reason:
            raise ValueError(f"the gold {answer!r} {reason}")
    prompt = Prompt(f"{split}:{row.number}", content, answer, row.values)
    check_text("prompt", prompt.text)
    check_text("gold", answer or "")
    return prompt


def _settle(path: Path, rows: Rows, problems: Sequence[Problem], kept: int, drop: bool) -> list[str]:
    if not problems:
        return []
    total = kept + len(problems)
    if not drop:
        raise errors.DataError(
            f"{path}: {len(problems)} of {total} rows cannot be used:\n{rows.describe(problems)}\n"
            "correct them, or leave them out with --drop-bad-rows"
        )
    if not kept:
        raise errors.DataError(f"{path}: none of {total} rows can be used:\n{rows.describe(problems)}")
    return [f"{path.name}: dropped {len(problems)} of {total} rows:\n{rows.describe(problems)}"]


def _conflicts(prompts: Sequence[Prompt], rows: Rows) -> list[str]:
    first: dict[str, Prompt] = {}
    found = []
    for prompt in prompts:
        earlier = first.setdefault(content_key(prompt.content), prompt)
        if earlier.answer != prompt.answer:
            lines = " and ".join(p.id.partition(":")[2] for p in (earlier, prompt))
            found.append(f"{lines} ({earlier.answer!r} and {prompt.answer!r})")
    if not found:
        return []
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return [
        f"{rows.source}: the same prompt with different golds in {rows.unit}s {'; '.join(found[:5])}{more}; "
        "both are kept, as prompts of their own"
    ]


def _default_reward(prompts: Sequence[Prompt], options: Mapping[str, Any]) -> tuple[Reward, str]:
    numeric = all(rational(prompt.answer or "") is not None for prompt in prompts)
    extract = "last_number" if numeric else "whole"
    judge = load_reward("exact", **{"extract": extract, **options})
    where = {"last_number": "the last number of the completion", "whole": "the whole completion"}
    chosen = judge.extract if isinstance(judge, Exact) else extract
    why = "all golds are numbers" if numeric else "some golds are not numbers"
    return judge, f"reward: exact match on {where.get(chosen, chosen)}, since {why}; --reward chooses another"


def _overlap(train: Sequence[Prompt], test: Sequence[Prompt], path: str, test_path: str) -> list[str]:
    tested = {content_key(prompt.content) for prompt in test}
    both = [prompt.id for prompt in train if content_key(prompt.content) in tested]
    if not both:
        return []
    return [
        f"{len(both)} prompts of {path} are also in {test_path} (the first is {both[0]}): "
        "accuracy on them is not held out"
    ]


def _rename(prompt: Prompt, split: str) -> Prompt:
    return replace(prompt, id=f"{split}:{prompt.id.partition(':')[2]}")
