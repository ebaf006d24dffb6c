"""Two phases in one step: a few rollouts of many prompts, then many more of those that look useful."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from winnow.allocation.base import NOTHING, Grant, check_count
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray
from winnow.observed import Observed


class Screen(Protocol):
    """What the settings of such a rule have in common."""

    @property
    def initial(self) -> int:
        """Rollouts of the first phase."""
        ...

    @property
    def further(self) -> int:
        """Rollouts of the second phase."""
        ...

    @property
    def pool(self) -> int:
        """Prompts at hand per prompt wanted."""
        ...

    @property
    def barrier(self) -> bool:
        """Wait for whole phases."""
        ...

    def passes(self, seen: Observed) -> npt.NDArray[np.bool_]:
        """Return bool (P,): by the outcomes of its first phase the prompt deserves the second."""
        ...

    def preference(self, seen: Observed) -> FloatArray:
        """Return (P,): which of the prompts that pass go on first, the highest; equal ones as offered."""
        ...


class Screening:
    """The allocator: screen candidates, and continue the first ``W = max(1, P // pool)`` that pass.

    Everything is drawn in one step by one policy. The sources screen the next step's candidates together with the
    second phase of the last one's, and train on screening rollouts that are a step or more old; here nothing is stale,
    and a step takes two waves (ours).

    All P prompts are screened at once, as far as the budget leaves room to continue as many of them as it can pay:
    a prompt wanted costs ``pool * initial + further``. What is left continues others that passed, the last of them cut
    short where it has to be, or screens further prompts where too few did. A budget below one prompt wanted screens
    what leaves room for ``further``; one below ``initial + further`` goes to the first prompt. Prompts that were not
    screened come first in the next step; those that passed and were not needed are dropped, like those that failed. A
    prompt without a scorable rollout fails.

    The step ends when W prompts are continued or no prompt is left to screen, and says which. Under a token budget all
    prompts are screened first, and tokens left after the second phase stay unspent.

    Complexity: O(P log P) per call.
    """

    def __init__(self, rule: Screen, prompts: int) -> None:
        self.finished = False
        self.reason = ""
        self._rule = rule
        self._wanted = max(1, prompts // rule.pool)
        self._screened = 0
        self._continued = np.zeros(prompts, bool)

    def next(self, seen: Observed, left: int | None) -> Grant:
        """Return the second phase of prompts that passed, or further prompts to screen."""
        complete = seen.told == seen.granted
        if self.finished or (self._rule.barrier and not complete.all()):
            return NOTHING
        missing = self._wanted - int(np.count_nonzero(self._continued))
        fresh = complete & (seen.granted > 0) & ~self._continued
        ready = np.flatnonzero(fresh & self._rule.passes(seen))
        if missing and len(ready):
            first = ready[np.lexsort((ready, -self._rule.preference(seen)[ready]))][:missing]
            self._continued[first] = True
            chosen = np.sort(first)
            return Grant(chosen, np.full(len(chosen), self._rule.further, np.int64))
        open_screens = int(np.count_nonzero(~complete & ~self._continued))
        if missing and not open_screens:
            count, size = self._affordable(missing, left)
            if count:
                start, self._screened = self._screened, self._screened + count
                return Grant(np.arange(start, self._screened), np.full(count, size, np.int64))
        if not missing or not open_screens:
            self.finished = True
            self.reason = self._why(missing)
        return NOTHING

    def _affordable(self, missing: int, left: int | None) -> tuple[int, int]:
        """Return how many prompts to screen now, and with how many rollouts each."""
        rule, spare = self._rule, len(self._continued) - self._screened
        if left is None or not spare:
            return spare, rule.initial
        if left < rule.initial + rule.further:
            return (0, 0) if self._screened else (1, left)
        groups = left // (rule.pool * rule.initial + rule.further)
        wish = spare if groups >= missing else rule.pool * max(1, groups)
        continuing = rule.further * max(1, min(groups, missing))
        return min(spare, wish, (left - continuing) // rule.initial), rule.initial

    def hear(self, prompts: IntArray, seen: Observed) -> None:
        """Everything is read from ``seen``."""

    def _why(self, missing: int) -> str:
        if not missing:
            return f"{self._wanted} of {self._wanted} prompts continued"
        spare = len(self._continued) - self._screened
        ended = "no room to screen another" if spare else f"all {self._screened} prompts are screened"
        return f"{self._wanted - missing} of {self._wanted} prompts continued: {ended}"


def check_phases(owner: str, rule: Screen) -> None:
    """Raise `ConfigError` unless sizes and pool are whole numbers, the first phase at least 2: one tells nothing."""
    for name, least in (("initial", 2), ("further", 1), ("pool", 1)):
        check_count(owner, name, getattr(rule, name), least)


def further_for(owner: str, n: int, initial: int) -> int:
    """Return the size of the second phase that makes a group of n.

    Raises:
        ConfigError: if nothing is left for it.
    """
    if n <= initial:
        raise ConfigError(
            f"n={n}: {owner} screens with initial={initial} rollouts and continues with the rest of n; use n >= "
            f"{initial + 1}, or set initial too"
        )
    return n - initial
