"""A sampler with a number of slots: when rollouts of long-tailed lengths end, and how long slots stand idle."""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths of rollouts, lognormal: ``exp`` of a normal with deviation ``tail``, scaled to a mean and cut.

    Attributes:
        mean: tokens on average, before the cut.
        tail: deviation of the logarithm; 0 for equal lengths, about 1 for reasoning models.
        longest: where rollouts are cut.
    """

    mean: float = 200.0
    tail: float = 1.0
    longest: int = 2048

    def __post_init__(self) -> None:
        if not self.mean >= 1 or not 0 <= self.tail <= 5 or self.longest < 1:
            raise ConfigError(f"{self}: use mean >= 1, a tail from 0 to 5, and longest >= 1")

    def draw(self, count: int, rng: np.random.Generator) -> IntArray:
        """Return ``count`` lengths of at least 1."""
        raw = self.mean * np.exp(self.tail * rng.standard_normal(count) - self.tail**2 / 2)
        return np.clip(np.rint(raw), 1, self.longest).astype(np.int64)


@dataclass
class Slots:
    """Rollouts in flight, each in a slot, at one token per slot and unit of time; what finds no slot waits in line.

    Time that scoring and updating take is not counted.

    Attributes:
        size: how many rollouts run at a time.
        now: time since the start.
        busy: slot time used.
    """

    size: int
    now: float = 0.0
    busy: float = 0.0
    _running: list[tuple[float, int, int, float, int]] = field(default_factory=list)
    _waiting: deque[tuple[int, float, int]] = field(default_factory=deque)
    _started: int = 0

    @property
    def free(self) -> int:
        """Slots that nothing waits for."""
        return max(0, self.size - len(self._running) - len(self._waiting))

    @property
    def idle(self) -> float:
        """Share of slot time unused so far."""
        return 1 - self.busy / (self.size * self.now) if self.now else 0.0

    def submit(self, prompts: IntArray, rewards: FloatArray, lengths: IntArray) -> None:
        """Put rollouts in line."""
        self._waiting.extend(zip(prompts.tolist(), rewards.tolist(), lengths.tolist(), strict=True))
        self._start()

    def _start(self) -> None:
        while self._waiting and len(self._running) < self.size:
            prompt, reward, length = self._waiting.popleft()
            self._started += 1
            heapq.heappush(self._running, (self.now + length, self._started, prompt, reward, length))

    def advance(self, everything: bool) -> tuple[IntArray, FloatArray, IntArray]:
        """Let time go on until something ends, or until all has, and return it: prompts, rewards and lengths (k,).

        Complexity: O(log slots) per rollout.
        """
        ended: list[tuple[int, float, int]] = []
        while self._running and (everything or not ended or self._running[0][0] == self.now):
            self.now, _, prompt, reward, length = heapq.heappop(self._running)
            self.busy += length
            ended.append((prompt, reward, length))
            self._start()
        table = np.array(ended, np.float64).reshape(-1, 3)
        return table[:, 0].astype(np.int64), table[:, 1], table[:, 2].astype(np.int64)
