"""Pairs of a gold and a completion with the verdict they deserve: `development`, `held_out` and `generated`.

The two text files are tables to read and to add to. A line starts with one of

    # KIND          the kind of the pairs below
    gold TEXT       the gold of the pairs below
    right TEXT      an answer that equals the gold, judged inside a box
    wrong TEXT      one that does not
    says+ TEXT      a whole completion that is right (⏎ stands for a new line)
    says- TEXT      one that is wrong
    unreadable TEXT a gold nothing can be judged against
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.reward.math_pairs.spellings import spellings

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Pair:
    """``right`` is None where the gold cannot be read."""

    kind: str
    gold: str
    completion: str
    right: bool | None

    def __str__(self) -> str:
        return f"{self.kind}: gold {self.gold!r}, completion {self.completion!r}, expected {self.right}"


def development() -> list[Pair]:
    """Pairs the verifier was written with."""
    return _read(HERE / "development.txt")


def held_out() -> list[Pair]:
    """Pairs written before the verifier, frozen, and never used to change it."""
    return _read(HERE / "held_out.txt")


def generated() -> list[Pair]:
    """Random golds, each with spellings of the same value and near misses."""
    return [
        Pair(kind, gold, f"\\boxed{{{answer}}}", right)
        for kind, gold, equal, unequal in spellings()
        for right, answers in ((True, equal), (False, unequal))
        for answer in answers
    ]


def _read(path: Path) -> list[Pair]:
    pairs, kind, gold = [], "", ""
    for line in path.read_text(encoding="utf-8").splitlines():
        word, _, text = line.partition(" ")
        if word == "#":
            kind = text
        elif word == "gold":
            gold = text
        elif word in ("right", "wrong"):
            pairs.append(Pair(kind, gold, f"\\boxed{{{text}}}", word == "right"))
        elif word in ("says+", "says-"):
            pairs.append(Pair(kind, gold, text.replace("⏎", "\n"), word == "says+"))
        elif word == "unreadable":
            pairs.append(Pair(kind, text, f"\\boxed{{{text}}}", None))
        else:
            raise ValueError(f"{path.name}: no line starts with {word!r}")
    return pairs
