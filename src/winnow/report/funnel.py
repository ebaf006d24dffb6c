"""From generated to trained: how many rollouts each stage of a step let through, and why the rest stayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STAGES = (
    ("scorable", "unscorable", "without a usable reward"),
    ("admitted", "gated", "in groups the gate kept out"),
    ("selected", "discarded", "not selected"),
    ("trained", "no_signal", "without signal: advantage 0"),
)
"""Stage, the ledger's count of those that did not reach it, and what happened to them."""


@dataclass(frozen=True)
class Stage:
    """One stage of the funnel.

    Attributes:
        name: what the rollouts that reached it are called.
        count: how many did.
        lost: how many of the stage before did not.
        why: what happened to those.
    """

    name: str
    count: int
    lost: int = 0
    why: str = ""


def stages(ledger: Mapping[str, Any]) -> list[Stage]:
    """Return the funnel of a run's ledger: generated, scorable, admitted, selected, trained.

    Every generated rollout ends in one fate, so each stage is the one before less the fates that end
    there. A ledger without rollouts has no stages.
    """
    generated = int(ledger.get("rollouts") or 0)
    if not generated:
        return []
    found = [Stage("generated", generated)]
    for name, counter, why in STAGES:
        lost = int(ledger.get(counter) or 0)
        found.append(Stage(name, found[-1].count - lost, lost, why))
    return found
