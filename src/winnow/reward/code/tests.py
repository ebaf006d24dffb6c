"""Tests of a program: what goes in, and what must come out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from winnow import errors
from winnow.reward.code.compare import Rules
from winnow.reward.code.inside import plain

_FUNCTION_CASE = ("args", "kwargs", "expected", "raises")
_SCRIPT_CASE = ("stdin", "stdout")
_WHOLE = ("function", "cases", "tolerance")
_PAIRED = ("inputs", "outputs", "fn_name")


@dataclass(frozen=True)
class Case:
    """One test.

    Attributes:
        args: positional arguments, plain data.
        kwargs: keyword arguments, plain data.
        expected: what the function must return, unless ``raises`` is set.
        raises: name of the exception it must raise; a subclass of one with that name will do.
        form: what is done to the result before it is compared: ``""``, ``set``, ``sorted``, ``truth``.
        tolerance: in place of that of the tests.
        stdin: text on the standard input of a program.
        stdout: what it must print; None for a function.
    """

    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    raises: str = ""
    form: str = ""
    tolerance: float | None = None
    stdin: str = ""
    stdout: str | None = None


@dataclass(frozen=True)
class Tests:
    """The tests of one problem.

    Attributes:
        cases: at least one.
        function: name of the function to call; an empty string runs the program on each case's ``stdin``.
        rules: how results are compared.
    """

    __test__ = False

    cases: Sequence[Case]
    function: str = ""
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        if not self.cases:
            raise errors.DataError("tests: there are no cases, so nothing could be judged")
        for number, case in enumerate(self.cases, 1):
            if bool(self.function) == (case.stdout is not None):
                raise errors.DataError(
                    f"tests: case {number} has {'stdout' if self.function else 'no stdout'}, but "
                    f"{'the tests name a function' if self.function else 'no function is named'}"
                )
            try:
                plain.encode([list(case.args), dict(case.kwargs), case.expected])
            except plain.NotPlain as error:
                raise errors.DataError(f"tests: case {number} holds a value {error}") from error

    @classmethod
    def of(cls, value: Any) -> Tests:
        """Read tests from the column of a data row.

        Args:
            value: one of, or its JSON text,

                - ``{"function": "add", "cases": [{"args": [1, 2], "expected": 3}, {"args": ["a"], "raises":
                  "TypeError"}], "tolerance": 1e-6}``, where ``kwargs`` and ``tolerance`` may be given too;
                - ``{"cases": [{"stdin": "1 2", "stdout": "3"}]}``;
                - ``{"inputs": [...], "outputs": [...]}``: texts of standard input and output, or with
                  ``fn_name`` lists of arguments and results (a result in a list of one is unpacked);
                - a list or text of ``assert f(1, 2) == 3`` statements (see `winnow.reward.code.asserts`).

        Raises:
            DataError: if it is none of these; the message says what was found and what is allowed.
        """
        if isinstance(value, Tests):
            return value
        if isinstance(value, str):
            value = _from_text(value)
        if isinstance(value, Sequence) and not isinstance(value, str) and value and isinstance(value[0], str):
            from winnow.reward.code import asserts

            return asserts.translate(value)
        if not isinstance(value, Mapping):
            raise errors.DataError(f"tests: expected a table or a list of asserts, found {_kind(value)}")
        value = {key: item for key, item in value.items() if item is not None}
        if "inputs" in value or "outputs" in value:
            return _paired(value)
        _only(value, _WHOLE, "tests")
        cases = value.get("cases")
        if not _is_list(cases):
            raise errors.DataError(f"tests: 'cases' must be a list, found {_kind(cases)}")
        function = value.get("function", "")
        if not isinstance(function, str) or (function and not function.isidentifier()):
            raise errors.DataError(f"tests: 'function' must be the name of a function, found {function!r}")
        tolerance = value.get("tolerance", Rules().tolerance)
        if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < 1:
            raise errors.DataError(f"tests: 'tolerance' must be at least 0 and below 1, found {tolerance!r}")
        read = _function_case if function else _script_case
        return cls([read(case, number) for number, case in enumerate(cases, 1)], function, Rules(float(tolerance)))


def _from_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.lstrip().startswith(("{", "[")) or "assert" not in text:
            raise errors.DataError(f"tests: neither JSON ({error}) nor assert statements") from error
        return [text]


def _function_case(case: Any, number: int) -> Case:
    case = _table(case, number, _FUNCTION_CASE)
    args, kwargs, raises = case.get("args", []), case.get("kwargs", {}), case.get("raises") or ""
    if not _is_list(args) or not isinstance(kwargs, Mapping):
        raise errors.DataError(f"tests: case {number} needs a list 'args' (and a table 'kwargs', if any)")
    if (case.get("expected") is not None) if raises else ("expected" not in case):
        raise errors.DataError(f"tests: case {number} needs either 'expected' or 'raises'")
    if not isinstance(raises, str):
        raise errors.DataError(f"tests: case {number}: 'raises' must be the name of an exception, found {raises!r}")
    return Case(args=list(args), kwargs=dict(kwargs), expected=case.get("expected"), raises=raises)


def _script_case(case: Any, number: int) -> Case:
    case = _table(case, number, _SCRIPT_CASE)
    stdin, stdout = case.get("stdin", ""), case.get("stdout")
    if not isinstance(stdin, str) or not isinstance(stdout, str):
        raise errors.DataError(
            f"tests: case {number} needs a text 'stdout' (and 'stdin'), or the tests need a 'function'"
        )
    return Case(stdin=stdin, stdout=stdout)


def _paired(value: Mapping[str, Any]) -> Tests:
    _only(value, _PAIRED, "tests")
    inputs, outputs = value.get("inputs"), value.get("outputs")
    if not _is_list(inputs) or not _is_list(outputs) or len(inputs) != len(outputs):
        raise errors.DataError("tests: 'inputs' and 'outputs' must be lists of one length")
    function = value.get("fn_name", "")
    if not function:
        pairs = [{"stdin": _joined(a), "stdout": _joined(b)} for a, b in zip(inputs, outputs, strict=True)]
        return Tests.of({"cases": pairs})
    cases = [
        {"args": a if _is_list(a) else [a], "expected": b[0] if _is_list(b) and len(b) == 1 else b}
        for a, b in zip(inputs, outputs, strict=True)
    ]
    return Tests.of({"function": function, "cases": cases})


def _joined(text: Any) -> Any:
    return "\n".join(text) if _is_list(text) and all(isinstance(line, str) for line in text) else text


def _table(case: Any, number: int, allowed: Sequence[str]) -> Mapping[str, Any]:
    if not isinstance(case, Mapping):
        raise errors.DataError(f"tests: case {number} must be a table, found {_kind(case)}")
    # A Parquet file gives every row the columns of all, empty ones as None.
    others = [*_SCRIPT_CASE, *_FUNCTION_CASE]
    known = {key: item for key, item in case.items() if item is not None or key not in others or key == "expected"}
    _only(known, allowed, f"tests: case {number}")
    return known


def _only(value: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in value:
        if key not in allowed:
            raise errors.DataError(
                f"{where}: unknown key {key!r}{errors.did_you_mean(key, allowed)} (allowed: {', '.join(allowed)})"
            )


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _kind(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__
