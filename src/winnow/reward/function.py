"""A reward function of the user, as a reward."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from winnow import errors
from winnow.reward.base import Item
from winnow.reward.call import Call
from winnow.reward.guard import Guard, Policy, place
from winnow.reward.source import resolve
from winnow.reward.values import as_list, to_verdict
from winnow.rollout import Verdict


class Function:
    """A function named by file or module, called with what its signature asks for.

    See `Call` for the arguments it may take, `winnow.reward.values` for what it may return and
    `Guard` for what its exceptions cost. A batch function that raises is called again for each item alone, so
    that one bad completion costs one verdict.

    Args:
        spec: ``path/to/file.py:function`` or ``package.module:function``, or the function itself; that can only be
            pickled where Python can import it by name.
        on_error: ``unscorable``, ``zero`` or ``raise``.
        max_error_rate: the highest share of failing items before the run is stopped.

    Raises:
        ConfigError: if the function cannot be loaded or takes no completion.
    """

    may_hang = True

    def __init__(self, spec: str | Callable[..., Any], *, on_error: Policy = "unscorable", max_error_rate: float = 0.5):
        self.spec = spec
        self.name = spec.rpartition(":")[2] if isinstance(spec, str) else _named(spec)
        self._call = Call(resolve(spec) if isinstance(spec, str) else spec, self.name)
        self._guard = Guard(self.name, on_error, max_error_rate)
        # Columns seen so far: a small batch may lack one that other rows have.
        self._columns: dict[str, None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        # A worker imports the function anew: functions of a file cannot be pickled by reference.
        return _rebuild, (self.spec, self._guard.policy, self._guard.limit)

    def check_columns(self, columns: Sequence[str], has_answers: bool) -> None:
        """Raise `ConfigError` if a parameter is neither built in nor one of ``columns``."""
        missing = self._call.missing(columns, has_answers)
        if missing:
            raise errors.ConfigError(self._call.explain(missing, columns))
        self._columns.update(dict.fromkeys(columns))

    def metrics(self) -> dict[str, float]:
        """``reward_errors``: on how many items the function has raised so far."""
        return {"reward_errors": float(self._guard.errors)}

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item.

        Raises:
            RewardError: if the function asks for a column that no row has had so far, returns the wrong number
                of values or a value that is no score, raises more often than ``max_error_rate`` allows, or calls
                ``sys.exit``.
        """
        if not items:
            return []
        self._columns.update((name, None) for item in items for name in item.prompt.fields)
        missing = self._call.missing(self._columns, has_answers=True)
        if missing:
            raise errors.RewardError(self._call.explain(missing, list(self._columns)))
        returned = self._batch(items) if self._call.batched else self._each(items)
        verdicts = [self._judge(value, item) for value, item in zip(returned, items, strict=True)]
        self._guard.check()
        return verdicts

    def _batch(self, items: Sequence[Item]) -> list[Any]:
        [returned] = self._call.run([self._call.bind(items, list(self._columns))])
        if not isinstance(returned, BaseException):
            return as_list(returned, len(items), self.name)
        if len(items) == 1:
            return [returned]
        return [self._batch([item])[0] for item in items]

    def _each(self, items: Sequence[Item]) -> list[Any]:
        return self._call.run([self._call.bind([item], list(self._columns)) for item in items])

    def _judge(self, value: Any, item: Item) -> Verdict:
        if isinstance(value, Exception):
            return self._guard.failed(value, item)
        if isinstance(value, BaseException):
            raise errors.RewardError(
                f"reward function {self.name} raised {type(value).__name__}: {value} on {place(item)}; "
                "it must return a score and not end the process"
            ) from value
        verdict = to_verdict(value, f"reward function {self.name}, {place(item)}", self._guard.warn)
        self._guard.passed()
        return verdict


def _named(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _rebuild(spec: str | Callable[..., Any], on_error: Policy, max_error_rate: float) -> Function:
    return Function(spec, on_error=on_error, max_error_rate=max_error_rate)
