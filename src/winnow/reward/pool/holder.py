"""The workers of a pool, in a place that outlives the pool long enough to end them."""

from __future__ import annotations

import os

from winnow.reward.pool.crew import Crew
from winnow.reward.pool.launch import Lost
from winnow.reward.pool.protocol import Setup


class Holder:
    """What must end with the pool and therefore cannot be the pool's own method."""

    def __init__(self) -> None:
        self.crew: Crew | None = None
        self._process = os.getpid()

    def hire(self, setup: Setup, size: int) -> Crew:
        """Return the crew, made now if there is none; raises what making one raises."""
        if self.crew is None:
            self.crew = Crew(setup, size)
        return self.crew

    def close(self) -> None:
        """End every process, if there is one and it is ours."""
        crew, self.crew = self.crew, None
        # A fork has copies of the connections; the processes behind them are not its own.
        if crew is not None and os.getpid() == self._process:
            crew.close()

    def interrupt(self) -> None:
        """Kill the workers that are in the middle of something."""
        if self.crew is None:
            return
        try:
            for hand in list(self.crew.hands.values()):
                if hand.held or hand.current is not None or not hand.ready:
                    self.crew.dismiss(hand)
        except Lost:
            self.close()
