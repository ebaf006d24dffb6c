"""The code verifier: programs against tests, in a sandbox."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from winnow import errors
from winnow.reward.base import Item
from winnow.reward.code.extract import EXTRACTORS, find_program
from winnow.reward.code.inside.limits import Limits
from winnow.reward.code.isolation import isolation
from winnow.reward.code.judge import judge
from winnow.reward.code.sandbox import Refused
from winnow.reward.code.tests import Tests
from winnow.rollout import Prompt, Verdict


def verify(
    program: str,
    tests: Tests,
    *,
    timeout: float = 2.0,
    memory_mb: int = 256,
    max_output: int = 65536,
    unsafe: bool = False,
) -> Verdict:
    """Run a program against tests and return its verdict.

    Args:
        program: Python source text; nothing in it is trusted.
        tests: what it must do.
        timeout: wall-clock seconds for the whole program, all cases together.
        memory_mb: address space of each of its processes, in MiB.
        max_output: bytes it may print, and bytes of one returned value.
        unsafe: run without isolation, with the rights of this process.

    Returns:
        Score: the share of cases passed. Outcome: 1.0 if all passed, else 0.0. The reason is empty, or starts
        with ``timeout``, ``memory``, ``output limit``, ``crash``, ``syntax error``, or reads ``2 of 3 passed: case 2
        got 5, expected 4``. Both are None only if the machine fails to run any program.

    Raises:
        ConfigError: without isolation and without ``unsafe``, or for limits out of range.
    """
    limits = _limits(timeout, memory_mb, max_output)
    _require(unsafe)
    return _verdict(program, tests, limits, unsafe)


@dataclass(frozen=True)
class Code:
    """Reward: the share of a prompt's tests that the completion's program passes.

    Tests stand in a column of the data, in any form that `Tests.of` reads; tests that cannot be read leave the item
    unscorable, and are found when data is loaded. A completion without a program scores 0.

    Args:
        unsafe: run programs without isolation where the system offers none.
        timeout: wall-clock seconds for one program, all cases together.
        memory_mb: address space of each process, in MiB.
        max_output: bytes a program may print, and bytes of one returned value.
        extract: where the program stands in the completion, see `find_program`.
        tests_column: column of the tests; ``answer`` takes the gold answer.
        prefix_column: with ``extract="continue"``, column of the text the completion continues; None takes the
            prompt's own text.
        jobs: programs run at a time; None takes the number of available cores.

    Raises:
        ConfigError: if an option is out of range, or there is no isolation and ``unsafe`` is not set.
    """

    unsafe: bool = False
    timeout: float = 2.0
    memory_mb: int = 256
    max_output: int = 65536
    extract: str = "block"
    tests_column: str = "tests"
    prefix_column: str | None = None
    jobs: int | None = None

    on_timeout = "zero"
    """A program that does not end in time is wrong, not unscorable."""

    def __post_init__(self) -> None:
        _limits(self.timeout, self.memory_mb, self.max_output)
        if self.extract not in EXTRACTORS:
            raise errors.unknown("value of extract", self.extract, EXTRACTORS)
        if self.jobs is not None and self.jobs < 1:
            raise errors.ConfigError(f"jobs must be at least 1, got {self.jobs}")
        if self.prefix_column is not None and self.extract != "continue":
            raise errors.ConfigError(
                f"prefix_column is used with extract='continue' only, and extract is {self.extract!r}"
            )
        _require(self.unsafe)

    @property
    def name(self) -> str:
        """``code``."""
        return "code"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know: that programs run without isolation, if they do."""
        if not self.unsafe or isolation().available:
            return ()
        return ("unsafe code: programs of the model run without isolation, with all rights of this user",)

    @property
    def needs_gold(self) -> bool:
        """Whether the tests stand in the gold answer."""
        return self.tests_column == "answer"

    def unreadable(self, answer: str) -> str:
        """Say why no program could be judged against the tests in ``answer``; an empty string if one could."""
        return _unreadable(answer) if self.needs_gold else ""

    def unreadable_fields(self, fields: Mapping[str, Any]) -> str:
        """Say why no program could be judged against the tests of a row; an empty string if one could."""
        if self.needs_gold:
            return ""
        if self.prefix_column is not None and not isinstance(fields.get(self.prefix_column), str):
            return f"has no text in column {self.prefix_column!r}, which completions continue"
        return _unreadable(fields.get(self.tests_column))

    def check_columns(self, columns: Sequence[str], has_answers: bool) -> None:
        """Raise `ConfigError` if the column of the tests, or of the prefix, is not there."""
        needed = [name for name in (self.prefix_column, None if self.needs_gold else self.tests_column) if name]
        for name in needed:
            if name not in columns:
                raise errors.ConfigError(
                    f"reward code needs the column {name!r}{errors.did_you_mean(name, columns)} (found: "
                    f"{', '.join(columns) or 'none'}); name another with the reward options tests_column "
                    "and prefix_column"
                )
        if self.needs_gold and not has_answers:
            raise errors.ConfigError("reward code takes its tests from the gold answer, and the data has none")

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item, several at a time."""
        jobs = min(self.jobs or _cores(), len(items))
        if jobs <= 1:
            return [self._judge(item) for item in items]
        with ThreadPoolExecutor(jobs, thread_name_prefix="winnow-code") as pool:
            return list(pool.map(self._judge, items))

    def _judge(self, item: Item) -> Verdict:
        prompt = item.prompt
        try:
            tests = Tests.of(prompt.answer if self.needs_gold else prompt.fields.get(self.tests_column))
        except errors.DataError as error:
            return Verdict(None, reason=str(error))
        program = find_program(item.completion, self.extract, self._prefix(prompt))
        if program is None:
            return Verdict(0.0, 0.0, "no code found")
        return _verdict(program, tests, _limits(self.timeout, self.memory_mb, self.max_output), self.unsafe)

    def _prefix(self, prompt: Prompt) -> str:
        if self.extract != "continue":
            return ""
        return prompt.text if self.prefix_column is None else str(prompt.fields.get(self.prefix_column) or "")


def _verdict(program: str, tests: Tests, limits: Limits, unsafe: bool) -> Verdict:
    isolated = not unsafe or isolation().available
    try:
        return judge(program, tests, limits, isolated)
    except Refused as error:
        return Verdict(None, reason=f"the sandbox failed: {error}")


def _unreadable(tests: Any) -> str:
    try:
        Tests.of(tests)
    except errors.DataError as error:
        return str(error)
    return ""


def _require(unsafe: bool) -> None:
    if os.name != "posix":
        raise errors.ConfigError("reward code needs a POSIX system (Linux, or macOS with --unsafe-code)")
    if unsafe:
        return
    found = isolation()
    if not found.available:
        raise errors.ConfigError(
            f"reward code would run programs of the model, and isolation is {found.describe()}; change that, or run "
            "them with all rights of this user by --unsafe-code (reward option unsafe=true)"
        )


def _limits(timeout: float, memory_mb: int, max_output: int) -> Limits:
    for name, value, low, high in (
        ("timeout", timeout, 0.01, 3600),
        ("memory_mb", memory_mb, 64, 1 << 20),
        ("max_output", max_output, 1024, 1 << 26),
    ):
        if not low <= value <= high:
            raise errors.ConfigError(f"{name} must lie in [{low}, {high}], got {value}")
    return Limits(seconds=float(timeout), memory_mb=int(memory_mb), output=int(max_output))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
