"""VIGOR: start every prompt small, keep giving rollouts to the prompts whose rewards vary most."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np

from winnow.allocation.base import RULES, Allocator, check_count
from winnow.allocation.vigor_rounds import Rounds
from winnow.allocation.vigor_streaming import Streaming
from winnow.candidates import Candidates
from winnow.errors import ConfigError, unknown


@dataclass(frozen=True, slots=True)
class Vigor:
    """Variance-guided online rollout allocation (VIGOR, arXiv 2607.22002).

    Rounds (``barrier=True``, the paper). Round 1 draws ``initial`` rollouts of every prompt. After each round the
    share ``keep`` of the active prompts with the largest variance of all their outcomes so far (population
    variance; the size is the same for all of them) stays active, and each draws ``growth`` times as many as
    before. The paper's defaults give 2, 6, 14 or 30 rollouts to 50, 25, 12.5 and 12.5 % of the prompts,
    8 on average.

    Streaming (``barrier=False``, ours, after asynchronous successive halving). Rounds become levels with the same
    sizes and the same number of places, ``K[t+1] = ceil(keep K[t])``. A prompt has completed a level when all
    rollouts granted to it came back. Whenever rollouts are asked for, the best completed prompt of the lowest
    level that has not moved up moves up if fewer than ``floor(keep c)`` of the c prompts that have completed its
    level so far rank before it and the next level has a free place. Once all prompts of a level but one have completed
    it, its ranking is taken as final. So slots wait only while a ranking has nothing to say, and never for the slowest
    prompt of a level. Every place is filled in the end, so the sizes, as a multiset, and the budget are exactly those
    of the rounds; which prompts get them can differ, as an early finisher may take a place. If every ask comes without
    a limit and is answered in full before the next, the two forms grant the same rollouts to the same prompts.

    Budget. It is spent exactly, in both forms: a round that the budget cannot pay in full is shared out evenly
    over its prompts (the remainder to the highest variance), and the last round spends whatever is left. That is
    the cut the paper needs when ``keep * |active|`` is not whole (ceil, at least 1), and it also covers budgets
    larger than the nominal ``n`` per prompt, all of whose surplus goes to the last round. Under a token
    budget the last round repeats until the tokens are spent.

    Ties rank by prompt index, or by a permutation drawn from the step's seed with ``ties="random"``. Unscorable
    rollouts count as drawn and enter no variance.

    Known bias: group sizes depend on the rewards seen, so even leave-one-out gradients are biased (drawing 2, and
    2 more when both are equal, turns 0.25 into 0.354 at p = 0.5; objectives, section 0).

    Attributes:
        rounds: number of rounds T.
        initial: rollouts per prompt in the first round, at least 2 (one reward has no variance).
        keep: share of the active prompts that stays active, in (0, 1).
        growth: factor on the rollouts per prompt from round to round, > 1.
        barrier: True for rounds, False for streaming.
        skip_zero_variance: when fewer than ``keep`` of the active prompts vary at all, share the round out among
            those (rounds only). Off in the paper.
        ties: ``"index"`` or ``"random"``.

    Raises:
        ConfigError: if a setting is out of range.

    Complexity: a round costs O(P) expected; streaming costs O(log P) per prompt that moves up.
    """

    rounds: int = 4
    initial: int = 2
    keep: float = 0.5
    growth: float = 2
    barrier: bool = True
    skip_zero_variance: bool = False
    ties: str = "index"

    def __post_init__(self) -> None:
        check_count("Vigor", "rounds", self.rounds, 1)
        check_count("Vigor", "initial", self.initial, 2)
        if not 0 < self.keep < 1:
            raise ConfigError(f"Vigor(keep={self.keep!r}): use a share between 0 and 1, as 0.5")
        if not self.growth > 1:
            raise ConfigError(f"Vigor(growth={self.growth!r}): use a factor above 1, as 2")
        if self.ties not in ("index", "random"):
            raise unknown("ties", self.ties, ("index", "random"))
        if self.skip_zero_variance and not self.barrier:
            raise ConfigError("Vigor(skip_zero_variance=True) needs whole rounds: set barrier=True")

    @property
    def sizes(self) -> list[int]:
        """Rollouts per active prompt in each round."""
        return [math.floor(self.initial * self.growth**t + 1e-9) for t in range(self.rounds)]

    @property
    def largest(self) -> int:
        """Rollouts of a prompt that stays active to the end."""
        return sum(self.sizes)

    @property
    def n(self) -> int:
        """Mean rollouts per prompt with many prompts: the sum over rounds of size times share of prompts."""
        return round(sum(size * self.keep**t for t, size in enumerate(self.sizes)))

    def with_n(self, n: int) -> Vigor:
        """Return the rule with the ``initial`` that makes the mean n.

        Raises:
            ConfigError: if no whole ``initial`` does; the message lists the nearest values that work.
        """
        # The mean grows with the first round, so the starts worth a look lie around where it passes n.
        around = 2 + bisect_left(range(2, max(3, n) + 2), n, key=lambda start: replace(self, initial=start).n)
        options = {replace(self, initial=start).n: start for start in range(max(2, around - 4), around + 5)}
        if n not in options:
            near = sorted(sorted(options, key=lambda value: (abs(value - n), value))[:4])
            raise ConfigError(
                f"n={n} is no mean that Vigor(rounds={self.rounds}, keep={self.keep}, growth={self.growth}) can "
                f"have; the nearest are {', '.join(map(str, near))}"
            )
        return replace(self, initial=options[n])

    def begin(self, prompts: Candidates, rollouts: int | None, rng: np.random.Generator) -> Allocator:
        """Start a step."""
        size = len(prompts)
        rank = np.arange(size) if self.ties == "index" else rng.permutation(size)
        if not self.barrier:
            return Streaming(size, rollouts, self.sizes, self.keep, rank)
        return Rounds(size, self.sizes, self.keep, self.skip_zero_variance, rank)


RULES["vigor"] = Vigor
