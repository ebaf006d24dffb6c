import os
import signal
import subprocess
import sys

import pytest

from winnow import __version__
from winnow.cli import app as application
from winnow.cli.app import app
from winnow.errors import ConfigError, MissingExtra, ResumeError, SafetyStop

COMMANDS = [command.name for command in app.registered_commands]


def test_every_command_of_the_tool_is_there():
    assert set(COMMANDS) == {
        "train",
        "compare",
        "eval",
        "report",
        "recipes",
        "plan",
        "pilot",
        "check",
        "audit",
        "replay",
        "simulate",
        "model",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_help_reads_well_at_80_columns_and_has_examples(winnow, command):
    told = winnow(command, "--help")
    assert told.code == 0
    lines = told.out.splitlines()
    assert max(len(line) for line in lines) <= 80
    examples = lines[lines.index(next(line for line in lines if line.strip() == "Examples")) :]
    assert f"winnow {command}" in "\n".join(examples)
    assert "…" not in told.out


def test_version_and_no_arguments(winnow):
    assert winnow("--version").out == f"winnow {__version__}\n"
    bare = winnow()
    assert "train" in bare.out and "compare" in bare.out


def test_help_needs_neither_torch_nor_matplotlib():
    code = (
        "import sys; from winnow.cli import run; run(['train', '--help']); "
        "heavy = {'torch', 'transformers', 'matplotlib', 'reasoning_gym'} & set(sys.modules); "
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("n=1 is too small; set n"), 2),
        (MissingExtra("pip install 'winnow-rl[train]'"), 2),
        (ResumeError("seed: saved 0, now 1"), 2),
        (SafetyStop("20 steps without signal"), 3),
        (KeyboardInterrupt(), 130),
        (OSError(28, "No space left on device"), 3),
        (PermissionError(13, "Permission denied"), 2),
        (OverflowError("int too big to convert"), 2),
        (MemoryError("Unable to allocate 3 TiB"), 3),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"), 3),
        (BrokenPipeError(32, ""), 141),
        (ZeroDivisionError("a defect"), 1),
    ],
)
def test_errors_become_exit_codes_without_a_traceback(winnow, trainer, error, code, monkeypatch):
    monkeypatch.setattr("winnow.cli.app._no_reader", lambda: 141)
    trainer.outcome = error
    told = winnow("train")
    assert told.code == code
    assert "Traceback" not in told.err and told.out == ""
    assert len(told.err.splitlines()) < 20
    if code < 130:
        assert str(error) in told.err


def test_debug_shows_the_traceback_wherever_it_stands(winnow, trainer):
    trainer.outcome = ConfigError("n=1")
    for arguments in (["--debug", "train"], ["train", "--debug"]):
        told = winnow(*arguments)
        assert told.code == 2 and "Traceback" in told.err


@pytest.mark.parametrize(
    "arguments", [["trian"], ["train", "--steps", "many"], ["train", "--no-such"], ["compare"], ["report"], ["eval"]]
)
def test_usage_errors_are_bad_input(winnow, arguments):
    told = winnow(*arguments)
    assert told.code == 2 and told.out == "" and "Traceback" not in told.err


def test_nobody_reading_is_no_defect():
    command = f"{sys.executable} -m winnow.cli recipes | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "141" and done.stderr == ""


def test_help_is_no_json(winnow):
    assert "Usage" in winnow("plan", "--json", "--help").out


def test_whatever_else_prints_leaves_the_json_alone():
    code = (
        "import os; from winnow.cli import output\n"
        "with output.for_json():\n"
        "    print('python'); os.write(1, b'from c\\n'); print('result', file=output.result())\n"
        "print('after')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "result\nafter\n"
    assert set(done.stderr.splitlines()) == {"python", "from c"}


def test_sigterm_ends_any_command_as_ctrl_c_does(monkeypatch, capsys):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["winnow", "recipes"])
    monkeypatch.setattr(application.typer.main, "get_command", lambda app: os.kill(os.getpid(), signal.SIGTERM))
    try:
        with pytest.raises(SystemExit) as ended:
            application.main()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
