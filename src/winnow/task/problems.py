"""What can be wrong with data: the kinds of problem, and what to do about each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DROP = "or leave it out with --drop-bad-rows"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem.

    Attributes:
        name: a word for it in JSON.
        title: what it is called in a table.
        advice: what to do about it; empty where only the text of the problem can tell.
        stops: whether it stops a run: ``always``, ``unless dropped`` (a bad row) or ``never`` (a warning).
    """

    name: str
    title: str
    advice: str
    stops: Literal["always", "unless dropped", "never"]


FILE = Kind("file", "file cannot be used", "", "always")
COLUMNS = Kind("columns", "columns not settled", "name them with --prompt-column and --answer-column", "always")
REWARD = Kind("reward", "reward does not fit the data", "choose another --reward, or correct it", "always")
RAISES = Kind("raises", "reward raises", "correct the reward function", "always")
EMPTY = Kind("empty", "no row left", "correct the rows below", "always")
SIZE = Kind("size", "too few rows for a step", "add rows, or lower --prompts", "always")
SETTINGS = Kind("settings", "settings contradict each other", "", "always")
MODEL = Kind("model", "model does not fit the data", "", "always")

BROKEN = Kind("broken", "row cannot be read", f"correct the row, {DROP}", "unless dropped")
PROMPT = Kind("prompt", "prompt cannot be used", f"correct the prompt, {DROP}", "unless dropped")
GOLD = Kind("gold", "gold is no answer", f"give text or a number, {DROP}", "unless dropped")
UNREADABLE = Kind(
    "unreadable", "gold cannot be judged", f"rewrite the gold, choose another --reward, {DROP}", "unless dropped"
)
TESTS = Kind("tests", "tests cannot be used", f"correct the tests, {DROP}", "unless dropped")

CONFLICT = Kind("conflict", "same prompt, different golds", "find out which is right; all are kept", "never")
REPEATED = Kind("repeated", "row occurs again", "delete it unless the prompt should count more", "never")
OVERLAP = Kind("overlap", "prompt trained and tested", "delete it from one side: it is not held out", "never")
UNMARKED = Kind("unmarked", "no prompt says where the answer goes", "put it into the prompts", "never")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with one row, or with all of a file.

    Attributes:
        number: the row, as in `winnow.task.rows.Row`; 0 for the whole file.
        text: what was found and what was expected.
        kind: one of the kinds of this module.
        column: the column it is in, empty where it is in none.
    """

    number: int
    text: str
    kind: Kind = BROKEN
    column: str = ""


class RowError(ValueError):
    """A row cannot be used; `winnow.task` turns it into a `Problem` with the row's number."""

    def __init__(self, text: str, kind: Kind, column: str = ""):
        super().__init__(text)
        self.kind = kind
        self.column = column
