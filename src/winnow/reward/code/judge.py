"""From runs to a verdict. All comparing happens here, where no candidate can reach."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow.reward.code import sandbox
from winnow.reward.code.compare import Rules, equal, same_text, show
from winnow.reward.code.inside import plain
from winnow.reward.code.inside.limits import Limits
from winnow.reward.code.sandbox import Run
from winnow.reward.code.tests import Case, Tests
from winnow.rollout import Verdict

_LEAST_SECONDS = 0.001


@dataclass(frozen=True)
class _Failure:
    """Why a case failed.

    Attributes:
        reason: in words.
        final: whether the cases after it were not run.
        wrong: whether the program ended well with a wrong result.
    """

    reason: str
    final: bool = False
    wrong: bool = False


def judge(program: str, tests: Tests, limits: Limits, isolated: bool) -> Verdict:
    """Run a program against tests.

    Returns:
        The share of cases passed as score, and as outcome 1.0 only if all did. The reason says how the first
        failing case failed. Cases not reached count as failed.

    Raises:
        Refused: if the system refuses a step of the isolation.
    """
    deadline = time.monotonic() + limits.seconds
    results = _functions if tests.function else _scripts
    failures = results(program, tests, limits, deadline, isolated)
    passed = sum(failure is None for failure in failures)
    total = len(tests.cases)
    outcome = 1.0 if passed == total else 0.0
    return Verdict(passed / total, outcome, _reason(failures, passed, total))


def _reason(failures: Sequence[_Failure | None], passed: int, total: int) -> str:
    for number, failure in enumerate(failures, 1):
        if failure is not None:
            if not passed and not failure.wrong:
                return failure.reason
            return f"{passed} of {total} passed: case {number} {failure.reason}"
    return ""


def _functions(program: str, tests: Tests, limits: Limits, deadline: float, isolated: bool) -> list[_Failure | None]:
    """Judge the calls of a function.

    They share one process, in order. If it dies in the middle, the rest gets a new one.
    """
    failures: list[_Failure | None] = []
    while len(failures) < len(tests.cases):
        cases = tests.cases[len(failures) :]
        left = _left(limits, deadline)
        inputs = [[plain.encode(list(case.args)), plain.encode(dict(case.kwargs))] for case in cases]
        run = sandbox.run(program, left, function=tests.function, inputs=inputs, isolated=isolated)
        messages, loading = _by_index(run.messages, len(cases))
        died = _end(run, limits)
        for index, case in enumerate(cases):
            if index in messages:
                failures.append(_value(case, messages[index], tests.rules))
                continue
            if loading is not None or (died is not None and died.final):
                failure = _loading(loading, tests.function, program) if loading is not None else died
                return failures + [failure] * (len(cases) - index)
            failures.append(died or _Failure("crash: ended without returning"))
            break
    return failures


def _by_index(messages: Sequence[Any], count: int) -> tuple[dict[int, list[Any]], list[Any] | None]:
    """Sort messages by the input they are about; the first about one is the one that counts."""
    found: dict[int, list[Any]] = {}
    loading = None
    for message in messages:
        if not isinstance(message, list) or len(message) < 3 or type(message[0]) is not int:
            break
        if message[0] == -1:
            loading = loading or message
        elif 0 <= message[0] < count:
            found.setdefault(message[0], message)
    return found, loading


def _value(case: Case, message: list[Any], rules: Rules) -> _Failure | None:
    _, kind, payload, *rest = message
    wanted = f"expected {case.raises}" if case.raises else f"expected {show(case.expected)}"
    if kind == "raised":
        bases = rest[0] if rest and isinstance(rest[0], list) else []
        if case.raises and case.raises in bases:
            return None
        return _Failure(f"{_raised(message)}, {wanted}" if case.raises else _raised(message))
    if kind == "odd":
        if payload == "too long":
            return _Failure("output limit: the value returned is too long")
        return _Failure(f"got a value {_printable(payload)}, {wanted}", wrong=True)
    try:
        got = plain.decode(payload) if kind == "value" else None
    except plain.NotPlain as error:
        return _Failure(f"got bytes that are {error}", wrong=True)
    if kind != "value":
        return _Failure("got bytes that are not a result", wrong=True)
    if not case.raises:
        if case.tolerance is not None:
            rules = replace(rules, tolerance=case.tolerance)
        try:
            if equal(case.expected, _formed(got, case.form), rules):
                return None
        except TypeError:
            pass
    return _Failure(f"got {show(got)}, {wanted}", wrong=True)


def _formed(got: Any, form: str) -> Any:
    shapes: dict[str, Callable[[Any], Any]] = {"set": set, "sorted": sorted, "truth": bool}
    return shapes[form](got) if form else got


def _scripts(program: str, tests: Tests, limits: Limits, deadline: float, isolated: bool) -> list[_Failure | None]:
    failures: list[_Failure | None] = []
    for case in tests.cases:
        if failures and failures[-1] is not None and failures[-1].final:
            failures.append(failures[-1])
            continue
        run = sandbox.run(program, _left(limits, deadline), stdin=case.stdin, isolated=isolated)
        _, loading = _by_index(run.messages, 0)
        if loading is not None and run.end == "exit":
            failures.append(_loading(loading, "", program))
            continue
        out = run.out.decode("utf-8", "replace")
        wrong = _Failure(f"printed {show(out)}, expected {show(case.stdout)}", wrong=True)
        failures.append(_end(run, limits) or (None if same_text(case.stdout or "", out) else wrong))
    return failures


def _left(limits: Limits, deadline: float) -> Limits:
    return replace(limits, seconds=max(_LEAST_SECONDS, deadline - time.monotonic()))


def _end(run: Run, limits: Limits) -> _Failure | None:
    """How the run ended, if not well."""
    if run.end == "timeout":
        return _Failure(f"timeout: more than {limits.seconds:g} s", final=True)
    if run.end == "output":
        return _Failure(f"output limit: more than {limits.output} bytes", final=True)
    if run.end != "exit":
        return _Failure(f"stopped: {run.end}", final=True)
    if os.WIFSIGNALED(run.status):
        number = os.WTERMSIG(run.status)
        if number == signal.SIGXCPU:
            return _Failure(f"timeout: more than {limits.seconds:g} s of processor time", final=True)
        return _Failure(f"crash: killed by {signal.Signals(number).name}")
    if code := os.WEXITSTATUS(run.status):
        return _Failure(f"crash: exit status {code}")
    return None


def _loading(message: list[Any], function: str, program: str) -> _Failure:
    """What kept a program from being loaded, or a script from its end."""
    if message[1] == "missing":
        names = ", ".join(map(str, message[2])) if isinstance(message[2], list) else ""
        return _Failure(f"crash: no function {function!r} (defined: {names or 'none'})", final=True)
    return _Failure(_raised(message, program), final=bool(function) or message[2] == "SyntaxError")


def _raised(message: list[Any], program: str = "") -> str:
    """``crash: ValueError: ... (line 3)``, or the kind that memory and syntax errors are."""
    name, bases, text, line = (*map(_printable, message[2:6]), "", "", "", "")[:4]
    where = f" (line {line})" if line not in ("", "0") else ""
    what = f"{name}: {text}" if text else name
    if "SyntaxError" in bases:
        return f"syntax error: {text or name}{'' if 'line' in text else where}"
    if name == "MemoryError":
        lines = program.splitlines()
        source = lines[int(line) - 1] if line.isdecimal() and 0 < int(line) <= len(lines) else ""
        if "print(" in source or ".write(" in source:
            return f"output limit: no memory left for what line {line} prints"
        return f"memory: no memory left{where}"
    return f"crash: {what}{where}"


def _printable(part: Any) -> str:
    text = part if isinstance(part, str) else repr(part)
    return text.encode("utf-8", "replace").decode()[:300]
