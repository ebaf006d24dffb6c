"""Call a function with what its signature asks for."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow import errors
from winnow.reward.base import Item

# Name in a batch function -> name in a function of one completion -> value.
_GIVEN: Mapping[str, tuple[str, Callable[[Item], Any]]] = {
    "completions": ("completion", lambda item: item.completion),
    "prompts": ("prompt", lambda item: item.prompt.text),
    "answers": ("answer", lambda item: item.prompt.answer),
    "messages": ("messages", lambda item: _messages(item)),
    "rollouts": ("rollout", lambda item: item.rollout),
}


@dataclass(frozen=True)
class Arguments:
    """Positional and keyword arguments of one call."""

    positional: tuple[Any, ...]
    keyword: Mapping[str, Any]


class Call:
    """A function and the way to call it, read off its parameters.

    A parameter ``completions`` makes it a batch function, called once with a list per argument; a
    parameter ``completion`` makes it a function of one item, called once per item. Both may ask for, in
    the plural or the singular: ``prompts`` (text), ``answers`` (a batch function may also write
    ``answer``, as in TRL), ``rollouts`` (printable ids), ``messages`` (the chat form), and any column of
    the data by its name. ``**kwargs`` takes everything. Coroutine functions are awaited.

    Args:
        function: the function.
        name: its name in errors.

    Raises:
        ConfigError: if it takes no completion at all.
    """

    def __init__(self, function: Callable[..., Any], name: str):
        self.function = function
        self.name = name
        try:
            self.parameters = dict(inspect.signature(function).parameters)
        except (TypeError, ValueError) as error:
            raise errors.ConfigError(f"reward function {name} has no readable signature; wrap it in a def") from error
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in self.parameters.values())
        if "completions" in self.parameters:
            self.batched = True
        elif "completion" in self.parameters:
            self.batched = False
        elif self.takes_all:
            self.batched = True
        else:
            raise errors.ConfigError(
                f"reward function {name}({', '.join(self.parameters)}) takes no completion: it needs "
                "a parameter 'completions' (a list, for the whole batch) or 'completion' (one at a time)"
            )

    @property
    def given(self) -> dict[str, Callable[[Item], Any]]:
        """Arguments that need no column of the data, by name."""
        if not self.batched:
            return dict(_GIVEN.values())
        return {name: get for name, (_, get) in _GIVEN.items()} | {"answer": _GIVEN["answers"][1]}

    def missing(self, columns: Iterable[str], has_answers: bool) -> list[str]:
        """Name the required parameters that neither winnow nor ``columns`` can fill."""
        available = set(self.given) | set(columns)
        if not has_answers:
            available -= {"answer", "answers"}
        return [
            name
            for name, parameter in self.parameters.items()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
            and name not in available
        ]

    def bind(self, items: Sequence[Item], columns: Sequence[str]) -> Arguments:
        """Collect the arguments of one call.

        They are lists over ``items``, or the values of the first for a function of one item. What a row
        does not have is None.

        Args:
            items: the items of this call.
            columns: the columns of the data, of which a row may have a part.
        """
        positional: list[Any] = []
        keyword: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            if name not in self.given and name not in columns:
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(self._value(name, items))
            else:
                keyword[name] = self._value(name, items)
        if self.takes_all:
            rest = [name for name in (*self.given, *columns) if name not in self.parameters]
            keyword |= {name: self._value(name, items) for name in rest}
        return Arguments(tuple(positional), keyword)

    def explain(self, missing: Sequence[str], columns: Sequence[str]) -> str:
        """Say which parameters cannot be filled, and with what the others could be."""
        no_gold = not {"answer", "answers"}.isdisjoint(missing)
        available = [name for name in dict.fromkeys((*self.given, *columns)) if name not in missing]
        return (
            f"reward function {self.name} asks for {', '.join(map(repr, missing))}, which the data does not "
            f"have (available: {', '.join(available)})"
            + ("; name the column of the gold answer with --answer-column" if no_gold else "")
        )

    def run(self, calls: Sequence[Arguments]) -> list[Any]:
        """Call the function once per entry; what it raises stands in the list in place of its value.

        That includes `SystemExit`, so that a reward cannot end the process; an interrupt from the keyboard passes.
        Coroutines run together.
        """
        returned = [_caught(self.function, arguments) for arguments in calls]
        waiting = [index for index, value in enumerate(returned) if inspect.isawaitable(value)]
        if waiting:
            finished = wait(_gather([returned[index] for index in waiting]))
            for index, value in zip(waiting, finished, strict=True):
                returned[index] = value
        return returned

    def _value(self, name: str, items: Sequence[Item]) -> Any:
        def get(item: Item) -> Any:
            return given(item) if given is not None else item.prompt.fields.get(name)

        given = self.given.get(name)
        return [get(item) for item in items] if self.batched else get(items[0])


def wait(awaitable: Awaitable[Any]) -> Any:
    """Run an awaitable to its end, also from a thread whose event loop is already running."""

    async def main() -> Any:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(main())
    box: list[Any] = []
    failed: list[BaseException] = []

    def target() -> None:
        try:
            box.append(asyncio.run(main()))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=target, name="winnow-reward")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return box[0]


async def _gather(awaitables: Sequence[Awaitable[Any]]) -> list[Any]:
    return await asyncio.gather(*map(_settled, awaitables))


async def _settled(awaitable: Awaitable[Any]) -> Any:
    # An event loop ends on a SystemExit of any task, so none may leave this one.
    try:
        return await awaitable
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error


def _caught(function: Callable[..., Any], arguments: Arguments) -> Any:
    try:
        return function(*arguments.positional, **arguments.keyword)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return error


def _messages(item: Item) -> list[Mapping[str, str]]:
    content = item.prompt.content
    return [{"role": "user", "content": content}] if isinstance(content, str) else list(content)
