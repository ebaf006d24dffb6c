"""The application: its commands, and how an error becomes an exit code and one screen of text.

Exit codes: 0 done, 1 a defect in winnow, 2 bad input found before training, 3 stopped by a safety
limit, 130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import errno
import inspect
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import nullcontext

import typer

from winnow.cli import (
    audit,
    check,
    compare,
    evaluate,
    model,
    output,
    pilot,
    plan,
    recipes,
    replay,
    report,
    simulate,
    train,
)
from winnow.cli.options import FLAG
from winnow.errors import WinnowError

DEFECT, BAD_INPUT, STOPPED, INTERRUPTED, NO_READER = 1, 2, 3, 130, 141
DEBUG, JSON = "--debug", "--json"
HELP = ("-h", "--help")


def _spelling(name: str) -> str:
    """Let an option be written as the setting it sets: --micro_batch, --prompts-per-step."""
    dashed = name.replace("_", "-")
    return "prompts" if dashed == "prompts-per-step" else dashed


app = typer.Typer(
    name="winnow",
    help="Reinforcement learning of language models that spends rollouts where they teach.",
    epilog="[bold]Examples[/bold]\n  winnow train                     about a minute on a laptop, then a report\n"
    "  winnow compare grpo vigor+pods   the same budget, side by side\n"
    "  winnow train --help              every command has its own help",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": list(HELP), "token_normalize_func": _spelling},
)


def _unwrapped(text: str) -> str:
    """Join the lines of each paragraph: the terminal decides where they break."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


for _name, _command, _examples in (
    ("train", train.train, train.EXAMPLES),
    ("compare", compare.compare, compare.EXAMPLES),
    ("eval", evaluate.evaluate, evaluate.EXAMPLES),
    ("report", report.report, report.EXAMPLES),
    ("recipes", recipes.recipes, recipes.EXAMPLES),
    ("plan", plan.plan, plan.EXAMPLES),
    ("pilot", pilot.pilot, pilot.EXAMPLES),
    ("check", check.check, check.EXAMPLES),
    ("audit", audit.audit, audit.EXAMPLES),
    ("replay", replay.replay, replay.EXAMPLES),
    ("simulate", simulate.simulate, simulate.EXAMPLES),
    ("model", model.model, model.EXAMPLES),
):
    _epilog = "[bold]Examples[/bold]\n" + "\n".join(f"  {line}" for line in _examples)
    app.command(_name, help=_unwrapped(_command.__doc__ or ""), epilog=_epilog)(_command)


@app.callback(invoke_without_command=True)
def options(
    version: bool = typer.Option(False, "--version", metavar=FLAG, help="Print the version and exit."),
    debug: bool = typer.Option(
        False, DEBUG, metavar=FLAG, help="Show a traceback with every error; may stand anywhere."
    ),
) -> None:
    """Reinforcement learning of language models that spends rollouts where they teach."""
    if version:
        from winnow import __version__

        print(f"winnow {__version__}")
        raise typer.Exit()


def main() -> None:
    """Run the command line and leave with its exit code; SIGTERM ends it as Ctrl-C does, from the first import on."""
    signal.signal(signal.SIGTERM, _interrupt)
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = _no_reader()
    sys.exit(code)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def run(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code.

    Errors winnow raises on purpose are printed without a traceback. Anything else is a defect, which
    ``--debug`` shows in full.
    """
    debug = DEBUG in arguments
    rest = [argument for argument in arguments if argument != DEBUG]
    try:
        with output.for_json() if JSON in rest and not set(HELP) & set(rest) else nullcontext():
            typer.main.get_command(app).main(args=rest, prog_name="winnow")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            return _no_reader()
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        return _explain(error, debug)
    return 0


def _explain(error: Exception, debug: bool) -> int:
    if isinstance(error, WinnowError):
        _say(f"error: {error}")
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        return _no_reader()
    if isinstance(error, OSError):
        _say(f"error: {error}")
        return STOPPED if error.errno == errno.ENOSPC else BAD_INPUT
    if isinstance(error, OverflowError):
        _say(f"error: a number is too large to compute with ({error}); lower the settings of this command")
        return BAD_INPUT
    if _out_of_memory(error):
        _say(f"error: out of memory ({_first_line(error)}); lower prompts_per_step, n, slots, or micro_batch")
        return STOPPED
    _say(f"unexpected {type(error).__name__}: {error}")
    if not debug:
        _say(f"This is a defect in winnow; run again with {DEBUG} to see where.")
    return DEFECT


def _out_of_memory(error: Exception) -> bool:
    # torch tells about memory of the host and of the device with errors that are no MemoryError.
    named = type(error).__name__ == "OutOfMemoryError"
    said = isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    return isinstance(error, MemoryError) or named or said


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _no_reader() -> int:
    # The interpreter must not try to flush again what nobody reads.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return NO_READER


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
