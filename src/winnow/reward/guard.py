"""What happens when a reward function raises."""

from __future__ import annotations

import logging
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, get_args

from winnow import errors
from winnow.reward.base import Item
from winnow.rollout import Verdict

logger = logging.getLogger("winnow.reward")

Policy = Literal["unscorable", "zero", "raise"]

# The rate is taken over the latest calls and means nothing before a few of them.
WINDOW = 256
FEWEST = 8

# A function that fails on every row would otherwise drown the log; counters go on.
LOGGED = 20


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one guard on one item, as text that can leave the process.

    Attributes:
        name: the function's name.
        limit: the share of failures the guard allows.
        message: what to log; empty if there is nothing to say.
        trace: the traceback if the function raised, else empty.
    """

    name: str
    limit: float
    message: str = ""
    trace: str = ""


_report: Callable[[Event], None] | None = None


def report_to(report: Callable[[Event], None]) -> None:
    """Let all guards of this process report events, and neither log nor stop.

    A worker process sees a part of the items only, and no rate over them means anything: `Guard.replay` in the
    process that sees all does the rest. Running out of memory then passes through, because it is the worker's limit.
    """
    global _report
    _report = report


class Guard:
    """Turns exceptions of a reward function into verdicts, and stops when they are the rule.

    One bad completion must not end a long run, and a bug must not hide behind verdicts: so each
    exception costs one verdict, is logged and counted, and when more than ``limit`` of the latest
    `WINDOW` items failed (judged from `FEWEST` items on) the run stops with the first traceback.

    Args:
        name: the function's name.
        policy: ``unscorable`` (left out of every statistic), ``zero`` (score and outcome 0) or
            ``raise`` (stop at the first).
        limit: the highest share of failures allowed, in [0, 1].

    Raises:
        ConfigError: if ``policy`` or ``limit`` is none of these.
    """

    def __init__(self, name: str, policy: Policy, limit: float):
        if policy not in get_args(Policy):
            raise errors.unknown("value of on_error", policy, get_args(Policy))
        if not 0.0 <= limit <= 1.0:
            raise errors.ConfigError(f"max_error_rate must be between 0 and 1, got {limit}")
        self.name = name
        self.policy = policy
        self.limit = limit
        self.errors = 0
        self.first = ""
        self._logged = 0
        self._latest: deque[bool] = deque(maxlen=WINDOW)

    def passed(self) -> None:
        """Count an item that was judged."""
        self._happened(Event(self.name, self.limit))

    def failed(self, error: Exception, item: Item) -> Verdict:
        """Count, log and judge an item on which the function raised ``error``.

        Raises:
            RewardError: under the policy ``raise``.
        """
        if isinstance(error, MemoryError) and _report is not None:
            raise error
        what = f"{type(error).__name__}: {error}"
        message = f"reward function {self.name} raised {what} on {place(item)}"
        if self.policy == "raise":
            raise errors.RewardError(message) from error
        self._happened(Event(self.name, self.limit, message, _format(error)))
        reason = f"{self.name} raised {what}{_where(error)}"
        return Verdict(None, reason=reason) if self.policy == "unscorable" else Verdict(0.0, 0.0, reason)

    def replay(self, event: Event) -> None:
        """Count and log what a guard of another process reported."""
        failed = bool(event.trace)
        if failed or not event.message:
            self._latest.append(failed)
        if failed:
            self.errors += 1
            self.first = self.first or event.trace
        if event.message:
            self.warn(event.message)

    def warn(self, message: str) -> None:
        """Log a message, the first `LOGGED` times."""
        if _report is not None:
            _report(Event(self.name, self.limit, message))
            return
        self._logged += 1
        if self._logged <= LOGGED:
            more = "; further ones are only counted" if self._logged == LOGGED else ""
            logger.warning("%s%s", message, more)

    def check(self) -> None:
        """Stop if too many of the latest items failed.

        Raises:
            RewardError: with the rate, the setting and the first traceback.
        """
        if _report is not None:
            return
        failures, seen = sum(self._latest), len(self._latest)
        if seen >= FEWEST and failures > self.limit * seen:
            raise errors.RewardError(
                f"reward function {self.name} raised on {failures} of the latest {seen} completions, more "
                f"than max_error_rate = {self.limit:g} allows; the first time:\n{self.first}"
            )

    def _happened(self, event: Event) -> None:
        if _report is None:
            self.replay(event)
        else:
            _report(event)


def place(item: Item) -> str:
    """Name the prompt and the rollout of an item."""
    return f"prompt {item.prompt.id}, rollout {item.rollout or '(no id)'}"


def _format(error: Exception) -> str:
    return "".join(traceback.format_exception(type(error), error, _trace(error))).rstrip()


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(_trace(error))
    return f" (in {frames[-1].filename} line {frames[-1].lineno}: {frames[-1].line})" if frames else ""


def _trace(error: Exception) -> TracebackType | None:
    trace = error.__traceback__
    # The frames of winnow say nothing about the user's function.
    while trace is not None and trace.tb_next is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(filename: str) -> bool:
    return filename.replace("\\", "/").endswith(("winnow/reward/call.py", "winnow/reward/function.py"))
