"""One pass over a log, through every check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from winnow.audit.duplicates import Duplicates
from winnow.audit.findings import Finding, ranked
from winnow.audit.golds import Golds
from winnow.audit.groups import Group, Grouper, digest
from winnow.audit.hints import Hints
from winnow.audit.lengths import Lengths
from winnow.audit.log import open_log
from winnow.audit.rewards import Rewards
from winnow.audit.signal import Signal
from winnow.audit.verifiers import Judge, Verifiers
from winnow.errors import DataError
from winnow.reward import Reward
from winnow.task import Task

EVERY = 2000


class Check(Protocol):
    """Looks at a log from one side."""

    def findings(self) -> Iterator[Finding]:
        """Yield what it found."""
        ...


def audit(
    paths: Sequence[Path],
    *,
    reward: Reward | None = None,
    against: Reward | None = None,
    task: Task | None = None,
    examples: int = 5,
    on_progress: Callable[[int], None] = lambda rollouts: None,
) -> dict[str, Any]:
    """Look through a log of rollouts for what is wrong with its rewards.

    The log is read once, as a stream. Memory: the numbers of one step's rollouts, three numbers per prompt, and at most
    `winnow.audit.duplicates.MOST_TEXTS` texts; neither the log nor its completions are held.

    Args:
        paths: files of rollouts, or folders of runs and pilots.
        reward: judges the rollouts anew; None takes the verdicts of the log.
        against: a second reward to hold against that; None with ``reward`` holds it against the log.
        task: where golds and columns come from; None takes the golds of the log.
        examples: disagreements to show.
        on_progress: called now and then with the rollouts read.

    Returns:
        Plain values for JSON: counts, one entry per check, and ``findings``, worst first.

    Raises:
        DataError: the log cannot be read, is empty, or lacks golds that a reward needs.
        ConfigError: a reward asks for columns that are not there.
    """
    started = perf_counter()
    log = open_log(paths)
    verifiers = _verifiers(reward, against, task, examples)
    rewards, signal, lengths, duplicates, hints = Rewards(), Signal(), Lengths(), Duplicates(), Hints()
    grouper = Grouper()

    def close(group: Group) -> None:
        for check in (signal, lengths, duplicates):
            check.group(group)

    steps: set[int] = set()
    for entry in log:
        key = digest(entry.text)
        rewards.entry(entry)
        hints.entry(entry)
        duplicates.entry(entry, key)
        if verifiers is not None:
            verifiers.entry(entry)
        for group in grouper.add(entry, key):
            close(group)
        steps.add(entry.step)
        if rewards.rollouts % EVERY == 0:
            on_progress(rewards.rollouts)
    for group in grouper.rest():
        close(group)
    if not rewards.rollouts:
        raise DataError(f"{', '.join(map(str, log.files))}: no rollouts in it")
    if verifiers is not None:
        verifiers.finish()
    checks: list[Check] = [rewards, signal, lengths, duplicates, hints, *([] if verifiers is None else [verifiers])]
    findings: list[Finding] = [finding for check in checks for finding in check.findings()]
    seconds = perf_counter() - started
    return {
        "files": [str(path) for path in log.files],
        "bytes": log.bytes,
        "torn_lines": log.torn,
        "rollouts": rewards.rollouts,
        "steps": len(steps),
        "seconds": seconds,
        "megabytes_per_second": log.bytes / 1e6 / seconds,
        **rewards.as_dict(),
        "signal": signal.as_dict(),
        "length_and_reward": lengths.as_dict(),
        "duplicates": duplicates.as_dict(),
        "hints": hints.as_dict(),
        "verifiers": None if verifiers is None else verifiers.as_dict(),
        "findings": [finding.as_dict() for finding in ranked(findings)],
    }


def _verifiers(reward: Reward | None, against: Reward | None, task: Task | None, examples: int) -> Verifiers | None:
    if reward is None and against is None:
        return None
    golds = Golds(task)
    first, second = (None, reward) if against is None else (reward, against)
    return Verifiers(Judge(first, golds), Judge(second, golds), examples)
