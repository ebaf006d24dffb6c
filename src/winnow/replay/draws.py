"""The rollouts of one replayed step: recorded ones without replacement, and what comes after the last of them."""

from __future__ import annotations

import numpy as np

from winnow.groups import FloatArray, IntArray
from winnow.replay.belief import Belief, Model
from winnow.replay.log import Log

MOST_DONORS = 1 << 16


class Donors:
    """Rollouts of a log by outcome, to stand in for a prompt that has none of the kind.

    Args:
        log: a log with two kinds of outcomes.
        belief: knows which.

    Attributes:
        of: rows of rollouts that failed, and of such that passed; at most `MOST_DONORS` of each, spread over the log.
    """

    def __init__(self, log: Log, belief: Belief) -> None:
        found = [np.flatnonzero(log.judged == value) for value in (belief.low, belief.high)]
        self.of = [rows[:: -(-len(rows) // MOST_DONORS)].copy() for rows in found]


class Draws:
    """What the visits of one step hand out.

    The recorded rollouts of a visit come in random order, each once. A recipe that asks for more gets *further* ones,
    which are counted:

    - Pass and fail: a pass rate is drawn from the visit's posterior, once per step, and each further rollout passes
      with it. Its reward and length are those of a recorded rollout of the visit with this outcome, or of another
      prompt's where it has none. (Repeating the recorded ones would keep every tie a tie for good.)
    - Graded outcomes: a recorded rollout again, drawn with replacement. Ties stay ties and groups look less varied than
      they are.

    Either way a further rollout is unscorable as often as the visit's own.

    Args:
        log: where rollouts come from.
        visits: int64 (P,) the visit behind each prompt of the step; may repeat.
        belief: see `Belief`.
        donors: see `Donors`.
        rng: of the order and of further rollouts.
    """

    def __init__(
        self, log: Log, visits: IntArray, belief: Belief, donors: Donors | None, rng: np.random.Generator
    ) -> None:
        self._log, self._visits, self._model, self._donors, self._rng = log, visits, belief.model, donors, rng
        self._high = belief.high
        self._size = log.size[visits]
        self._first = np.cumsum(self._size) - self._size
        owner = np.repeat(np.arange(len(visits)), self._size)
        rows = np.repeat(log.start[visits] - self._first, self._size) + np.arange(len(owner))
        # Sorting by owner plus a fraction shuffles every visit at once.
        self._rows = rows[np.argsort(owner + rng.random(len(owner)))]
        self._owner = owner
        self._taken = np.zeros(len(visits), np.int64)
        self._rate: FloatArray | None = None
        self._kinds: dict[int, tuple[IntArray, IntArray, IntArray]] = {}
        self.further = 0

    def take(self, wanted: IntArray) -> tuple[IntArray, IntArray]:
        """Return the owner and the row of the log (k,) of the next ``wanted[i]`` rollouts of each prompt i (P,).

        Complexity: O(k).
        """
        owner = np.repeat(np.arange(len(wanted)), wanted)
        place = self._taken[owner] + np.arange(len(owner)) - (np.cumsum(wanted) - wanted)[owner]
        self._taken += wanted
        recorded = place < self._size[owner]
        if recorded.all():
            return owner, self._rows[self._first[owner] + place]
        rows = np.empty(len(owner), np.int64)
        rows[recorded] = self._rows[(self._first[owner] + place)[recorded]]
        rows[~recorded] = self._beyond(owner[~recorded])
        self.further += int(np.count_nonzero(~recorded))
        return owner, rows

    def _beyond(self, owner: IntArray) -> IntArray:
        again = self._pick(owner, self._first, self._size)
        if self._model is None:
            return again
        judged = self._log.judged
        passes = self._rng.random(len(owner)) < self._rates(self._model)[owner]
        for kind in (0, 1):
            turned = np.isfinite(judged[again]) & (passes == bool(kind)) & ((judged[again] == self._high) != bool(kind))
            again[turned] = self._of_kind(owner[turned], kind)
        return again

    def _rates(self, model: Model) -> FloatArray:
        if self._rate is None:
            self._rate = model.draw(self._visits, self._rng)
        return self._rate

    def _pick(self, owner: IntArray, first: IntArray, count: IntArray) -> IntArray:
        return self._rows[first[owner] + (self._rng.random(len(owner)) * count[owner]).astype(np.int64)]

    def _of_kind(self, owner: IntArray, kind: int) -> IntArray:
        """Return a row with outcome ``kind`` for each owner: its own, where it has one."""
        assert self._donors is not None
        own, first, count = self._own(kind)
        has = count[owner] > 0
        rows = np.empty(len(owner), np.int64)
        mine = owner[has]
        rows[has] = own[first[mine] + (self._rng.random(len(mine)) * count[mine]).astype(np.int64)]
        rows[~has] = self._rng.choice(self._donors.of[kind], len(owner) - len(mine))
        return rows

    def _own(self, kind: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return the rows with outcome ``kind``, and where those of each prompt begin and how many it has."""
        if kind not in self._kinds:
            judged = self._log.judged[self._rows]
            places = np.flatnonzero(np.isfinite(judged) & ((judged == self._high) == bool(kind)))
            count = np.bincount(self._owner[places], minlength=len(self._visits))
            self._kinds[kind] = self._rows[places], np.cumsum(count) - count, count
        return self._kinds[kind]
