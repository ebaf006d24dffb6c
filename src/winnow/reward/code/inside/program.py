"""Run a candidate in the process that holds it, and say what came out.

From here on nothing is trusted: the candidate shares this process and can forge whatever it reports. That is
harmless, because only inputs are here. What the right outputs are, nobody on this side of the pipe knows.

A message on the result pipe is ``[index, kind, ...]`` with the index of the input, or -1 for the program:

- ``[i, "value", form]``: the function returned plain data (see `winnow.reward.code.inside.plain`);
- ``[i, "raised", name, names of its base classes, message, line]``;
- ``[i, "odd", why]``: it returned something that is not plain data, or too much of it;
- ``[-1, "missing", names]``: the program defines no such function, but these.
"""

from __future__ import annotations

import atexit
import builtins
import io
import os
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any

from winnow.reward.code.inside import frames, plain
from winnow.reward.code.inside.lockdown import RESULTS

FILE = "<candidate>"
_LONGEST_MESSAGE = 300
_MOST_NAMES = 20


class Reporter:
    """Writes messages to the result pipe with functions the candidate has not replaced.

    Args:
        longest: the most bytes of one message.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._write: Callable[[int, bytes], int] = os.write
        self._pack = frames.pack
        self._encode = plain.encode

    def send(self, index: int, kind: str, *rest: Any) -> None:
        """Send one message."""
        data = self._pack([index, kind, *rest])
        while data:
            data = data[self._write(RESULTS, data) :]

    def value(self, index: int, returned: Any) -> None:
        """Send what a function returned."""
        try:
            form = self._encode(returned)
        except plain.NotPlain as error:
            return self.send(index, "odd", str(error))
        if len(self._pack([index, "value", form])) > self._longest:
            return self.send(index, "odd", "too long")
        return self.send(index, "value", form)

    def raised(self, index: int, error: BaseException) -> None:
        """Send what was raised."""
        try:
            text = str(error)[:_LONGEST_MESSAGE]
        except BaseException:
            text = ""
        kind = type(error)
        bases = [base.__name__ for base in kind.__mro__ if base is not object][:_MOST_NAMES]
        self.send(index, "raised", kind.__name__, bases, text, _line(error))


def run_function(program: str, name: str, inputs: Sequence[Any], longest: int) -> int:
    """Load a program as a module and call one of its functions on each input.

    Args:
        program: source text.
        name: name of the function.
        inputs: for each call the form of its positional and of its keyword arguments.
        longest: the most bytes of one message.
    """
    report = Reporter(longest)
    module = _module("solution")
    try:
        exec(_compiled(program), module.__dict__)
    except BaseException as error:
        report.raised(-1, error)
        return 1
    function = module.__dict__.get(name)
    if not callable(function):
        found = [key for key, value in module.__dict__.items() if isinstance(value, types.FunctionType)]
        report.send(-1, "missing", found[:_MOST_NAMES])
        return 1
    for index, form in enumerate(inputs):
        _call(function, index, form, report)
    return 0


def run_script(program: str, longest: int) -> int:
    """Run a program as ``__main__`` on the standard streams and return its exit status."""
    report = Reporter(longest)
    open_streams()
    module = _module("__main__")
    sys.argv = ["main.py"]
    code = 0
    try:
        exec(_compiled(program), module.__dict__)
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException as error:
        report.raised(-1, error)
        code = 1
    # What an interpreter does at its end: threads first, then what was registered, then what is buffered.
    for finish in (threading._shutdown, atexit._run_exitfuncs, sys.stdout.flush):  # type: ignore[attr-defined]
        try:
            finish()
        except BaseException as error:
            report.raised(-1, error)
            code = code or 1
    return code


def open_streams() -> None:
    """Put fresh text streams on the standard descriptors."""
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        raw = open(place, "wb" if place else "rb", closefd=False)  # noqa: SIM115
        errors = "backslashreplace" if name == "stderr" else "strict"
        stream = io.TextIOWrapper(raw, encoding="utf-8", errors=errors, write_through=name == "stderr")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def prepare() -> None:
    """Make the interpreter look as if it had just started; done once, for all that are forked from it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "winnow"]:
        del sys.modules[name]
    atexit._clear()
    sys.orig_argv = []
    # With site, the interpreter would have defined them.
    vars(builtins).update({"exit": sys.exit, "quit": sys.exit})


def _call(function: Callable[..., Any], index: int, form: Any, report: Reporter) -> None:
    args, kwargs = map(plain.decode, form)
    try:
        returned = function(*args, **kwargs)
    except BaseException as error:
        report.raised(index, error)
        return
    try:
        report.value(index, returned)
    except BaseException as error:
        report.raised(index, error)


def _compiled(program: str) -> types.CodeType:
    try:
        return compile(program, FILE, "exec")
    except ValueError as error:
        # Null bytes and lone surrogates; what they raise differs between versions.
        raise SyntaxError(str(error)) from None


def _module(name: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__["__builtins__"] = builtins
    sys.modules[name] = module
    return module


def _exit_code(error: SystemExit) -> int:
    if error.code is None or isinstance(error.code, int):
        return int(error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)
    return 1


def _line(error: BaseException) -> int:
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line if type(line) is int else 0
