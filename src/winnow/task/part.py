"""One split of a data file: its rows turned into prompts, with everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from winnow import errors
from winnow.reward import ChecksColumns, ChecksFields, ChecksGolds, Reward
from winnow.rollout import Prompt
from winnow.task import problems as kinds
from winnow.task.columns import Columns, choose
from winnow.task.folder import Split
from winnow.task.golds import shown
from winnow.task.options import FileOptions
from winnow.task.problems import Problem, RowError
from winnow.task.read import read_shards
from winnow.task.repeats import row_of
from winnow.task.row_prompt import prompt_of
from winnow.task.rows import Row, Rows

TESTS, MBPP_TESTS = "tests", "test_list"


@dataclass(slots=True)
class Part:
    """A split as it was read.

    Attributes:
        files: where it was read from.
        split: ``train`` or ``test``; first part of every id, the second is the number of the row.
        rows: what the files hold.
        available: the columns found, members of objects as dotted paths.
        columns: the columns used, None if they could not be settled.
        prompts: the rows that can be used, in order.
        problems: what is wrong with the others, and with the whole.
        failure: why nothing of the split can be used, or None.
        notes: how it was read.
        warnings: what `problems` say that does not stop a run, in a line per kind.
    """

    files: Split
    split: str
    rows: Rows
    available: list[str] = field(default_factory=list)
    columns: Columns | None = None
    prompts: list[Prompt] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    failure: errors.WinnowError | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def fail(self, kind: kinds.Kind, error: errors.WinnowError) -> None:
        """Note why nothing of the split can be used; the first reason counts."""
        self.failure = self.failure or error
        self.problems.append(Problem(0, str(error), kind))

    @property
    def prompt_column(self) -> str:
        """The column of the prompt, or several separated by commas."""
        return "" if self.columns is None else ",".join(self.columns.prompt)

    @property
    def gold_column(self) -> str:
        """The column of the gold answer, or that of the prompt where its last turn is the gold."""
        return (self.columns.answer if self.columns else None) or self.prompt_column

    @property
    def bad_rows(self) -> list[Problem]:
        """The problems that each cost one row."""
        return [problem for problem in self.problems if problem.kind.stops == "unless dropped"]


def read_part(files: Split, split: str, options: FileOptions, judge: Reward | None, limit: int | None) -> Part:
    """Read one split and check every row; what is wrong is noted, not raised.

    Args:
        files: where it is.
        split: what the ids of its prompts start with.
        options: the columns, template and what to do with bad rows.
        judge: the reward that will see the prompts, or None if it is still to be chosen.
        limit: the first rows to read, or None.
    """
    part = Part(files, split, Rows(files.name, "row"))
    try:
        part.rows = read_shards(files.path, files.name, files.files, files.format or options.format)
    except errors.WinnowError as error:
        part.fail(kinds.FILE, error)
        return part
    _cut(part, limit)
    part.problems += part.rows.problems
    part.notes += part.rows.notes
    if part.rows.rows:
        part.available = part.rows.columns
        _name_tests(part, judge)
        _settle_columns(part, options, judge)
    if part.columns is not None:
        needed = needs_gold(judge)
        for row in part.rows.rows:
            try:
                part.prompts.append(prompt_of(row, split, part.columns, options, needed))
            except RowError as error:
                part.problems.append(Problem(row.number, str(error), error.kind, error.column))
    return part


def check_golds(part: Part, judge: Reward) -> None:
    """Move the prompts that the reward could not judge to the problems: for their gold, or for another column."""
    # A look at a protocol takes longer than most golds.
    by_gold = judge if isinstance(judge, ChecksGolds) else None
    by_fields = judge if isinstance(judge, ChecksFields) else None
    # Data sets repeat their golds, and a check may take the whole verifier.
    reasons: dict[str, str] = {}
    kept = []
    for prompt in part.prompts:
        gold, reason, kind, column = prompt.answer, "", kinds.UNREADABLE, part.gold_column
        if gold is not None and by_gold is not None:
            if gold not in reasons:
                reasons[gold] = by_gold.unreadable(gold)
            reason = reasons[gold] and f"the gold {shown(gold)} {reasons[gold]}"
        if not reason and by_fields is not None:
            kind, column = kinds.TESTS, str(getattr(judge, "tests_column", None) or "")
            reason = _untestable(by_fields, prompt.fields, column)
        if reason:
            part.problems.append(Problem(row_of(prompt), reason, kind, column))
        else:
            kept.append(prompt)
    part.prompts = kept


def settle(part: Part, drop: bool) -> None:
    """Decide whether bad rows stop a run: they do unless they are to be dropped and others are left."""
    bad = part.bad_rows
    if not bad or part.failure is not None:
        return
    total = len(part.prompts) + len(bad)
    path, listed = part.files.path, part.rows.describe(bad)
    if not part.prompts:
        part.problems.append(Problem(0, f"none of {total} rows can be used", kinds.EMPTY))
        part.failure = errors.DataError(f"{path}: none of {total} rows can be used:\n{listed}")
    elif drop:
        part.warnings.append(f"{part.rows.source}: dropped {len(bad)} of {total} rows:\n{listed}")
    else:
        part.failure = errors.DataError(
            f"{path}: {len(bad)} of {total} rows cannot be used:\n{listed}\n"
            "correct them, or leave them out with --drop-bad-rows"
        )


def needs_gold(judge: Reward | None) -> bool:
    """Tell whether prompts without a gold answer are of no use; a reward that is not chosen yet needs them."""
    return judge is None or (isinstance(judge, ChecksGolds) and judge.needs_gold)


def _cut(part: Part, limit: int | None) -> None:
    rows = part.rows
    if limit is not None and limit < len(rows.rows):
        setting = "limit" if part.split == "train" else "test_limit"
        part.notes.append(f"{rows.source}: the first {limit} of {len(rows.rows)} rows ({setting})")
        rows.cut(limit)


def _untestable(judge: ChecksFields, values: Mapping[str, Any], tests: str) -> str:
    reason = judge.unreadable_fields(values)
    return f"there are no tests in column {tests!r}" if reason and tests and values.get(tests) is None else reason


def _name_tests(part: Part, judge: Reward | None) -> None:
    """Give the tests of programs the name that the reward expects, where the data calls them as MBPP does."""
    wanted = getattr(judge, "tests_column", None)
    if wanted != TESTS or TESTS in part.available or MBPP_TESTS not in part.available:
        return
    part.available.append(TESTS)
    part.rows.rows = [
        Row(row.number, {**row.values, TESTS: row.values[MBPP_TESTS]}) if MBPP_TESTS in row.values else row
        for row in part.rows.rows
    ]
    part.notes.append(f"{part.rows.source}: tests from {MBPP_TESTS}")


def _settle_columns(part: Part, options: FileOptions, judge: Reward | None) -> None:
    source, available = part.rows.source, part.available
    from_turn = options.last_turn == "gold"
    try:
        columns = choose(
            source, available, options.prompt_column, options.answer_column, needs_gold(judge) and not from_turn
        )
    except errors.DataError as error:
        part.fail(kinds.COLUMNS, error)
        return
    if from_turn:
        columns = Columns(columns.prompt, None, columns.guessed)
    if judge is not None and isinstance(judge, ChecksColumns):
        try:
            judge.check_columns(available, has_answers=from_turn or columns.answer is not None)
        except errors.ConfigError as error:
            part.fail(kinds.REWARD, error)
            return
    part.columns = columns
    if columns.guessed:
        gold = "the last turn" if from_turn else columns.answer
        answer = f", answer from {gold}" if gold else ""
        part.notes.append(f"{source}: prompt from {' and '.join(columns.prompt)}{answer}")
