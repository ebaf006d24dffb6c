import sys
from types import SimpleNamespace
from typing import ClassVar

import pytest

from tests.report.synthetic import write_run
from winnow.cli import run


@pytest.fixture
def winnow(capsys, monkeypatch):
    """Run a command as a user with an 80-column terminal would; return its exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return SimpleNamespace(code=code, out=said.out, err=said.err)

    return call


@pytest.fixture
def trainer(monkeypatch, tmp_path):
    """Put a stand-in in the place of the trainer: it needs no torch and remembers what it was asked."""

    class Trainer:
        calls: ClassVar[list] = []
        outcome: ClassVar = None

        def __init__(self, config, provenance, progress):
            self.config, self.provenance, self.progress = config, provenance, progress

        def run(self, resume=False, allow_change=()):
            self.calls.append(SimpleNamespace(config=self.config, provenance=self.provenance, resume=resume,
                                              allow_change=list(allow_change)))  # fmt: skip
            if isinstance(self.outcome, BaseException):
                raise self.outcome
            folder = write_run(tmp_path / "run", recipe=self.config.recipe, steps=3, eval_every=1)
            summary = {"out": str(folder), "recipe": self.config.recipe, "exit_code": self.outcome or 0}
            self.progress.end(summary)
            return summary

    Trainer.calls.clear()
    monkeypatch.setitem(sys.modules, "winnow.train.trainer", SimpleNamespace(Trainer=Trainer))
    return Trainer
