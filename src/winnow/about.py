"""What the recipes are called and what a reader should know of each before choosing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["paper", "decision", "experimental"]


@dataclass(frozen=True, slots=True)
class About:
    """One line each.

    Attributes:
        paper: name and number of the source, or "ours".
        idea: what it does.
        saves: which cost it cuts.
        costs: what it takes in return.
        bias: what it does to the expected gradient.
        status: ``paper``: the published rule. ``decision``: the published idea, with rules of ours where the source is
            silent (the docstring of its part says which). ``experimental``: a reconstruction; results are not those of
            the source.
    """

    paper: str
    idea: str
    saves: str
    costs: str
    bias: str
    status: Status = "paper"


DECLARED: dict[str, tuple[About, Callable[[], dict[str, Any]]]] = {}


def declare(name: str, about: About, parts: Callable[[], dict[str, Any]]) -> None:
    """Make a recipe known, in the file of the rule that it is about.

    Args:
        name: what `winnow.recipe` and the command line call it.
        about: what to tell a reader.
        parts: returns what differs from GRPO, as `winnow.Recipe.override` takes it: fields, and settings of parts by
            name; called for each recipe made, so that rules with memory start empty. A part of a folder further down
            the funnel is imported (curricula may import allocations, these selections, these advantages, these gates),
            one further up is given by its name.
    """
    DECLARED[name] = (about, parts)
