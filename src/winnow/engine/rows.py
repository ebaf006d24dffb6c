"""The state of the rows being decoded, apart from their cache."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from winnow.engine.noise import uniforms


class Rows:
    """Tokens, noise and positions of up to ``slots`` rollouts; rows 0 to ``live - 1`` are in use.

    Args:
        slots: rows at most.
        max_new_tokens: tokens of a completion at most.
        seed: entropy of the step.
        device: where the model is.
    """

    def __init__(self, slots: int, max_new_tokens: int, seed: int | Sequence[int], device: torch.device) -> None:
        self._seed = seed
        self._device = device
        self._limit = max_new_tokens
        self.live = 0
        self._owners: list[tuple[int, int]] = [(-1, -1)] * slots
        self._ids_ST = torch.zeros(slots, max_new_tokens, dtype=torch.int64, device=device)
        self._logprobs_ST = torch.zeros(slots, max_new_tokens, device=device)
        self._uniforms_ST = torch.zeros(slots, max_new_tokens, device=device)
        self._last_S = torch.zeros(slots, dtype=torch.int64, device=device)
        self._positions_S = torch.zeros(slots, dtype=torch.int64, device=device)
        self._counts_S = torch.zeros(slots, dtype=torch.int64, device=device)
        self._limits_S = torch.full((slots,), max_new_tokens, dtype=torch.int64, device=device)

    def noise(self, owners: Sequence[tuple[int, int]]) -> Tensor:
        """Return the uniforms (R, T) of rollouts given as (prompt index, draw)."""
        drawn = [uniforms(self._seed, prompt, number, self._limit) for prompt, number in owners]
        return torch.from_numpy(np.stack(drawn)).to(self._device)

    def begin(
        self,
        places: Sequence[int],
        owners: Sequence[tuple[int, int]],
        prompt_lengths: Sequence[int],
        limits: Sequence[int],
        ids_R: Tensor,
        logprobs_R: Tensor,
        uniforms_RT: Tensor,
    ) -> None:
        """Start rollouts in the given rows with their first token, which is not yet fed to the model."""
        places_R = torch.tensor(places, device=self._device)
        for place, owner in zip(places, owners, strict=True):
            self._owners[place] = owner
        self._ids_ST[places_R, 0] = ids_R
        self._logprobs_ST[places_R, 0] = logprobs_R
        self._uniforms_ST[places_R] = uniforms_RT
        self._last_S[places_R] = ids_R
        self._positions_S[places_R] = torch.tensor(prompt_lengths, device=self._device)
        self._counts_S[places_R] = 1
        self._limits_S[places_R] = torch.tensor(limits, device=self._device)
        self.live = max(self.live, max(places) + 1)

    def pending(self) -> tuple[Tensor, Tensor]:
        """Return the tokens to feed next and their positions, both (B,)."""
        return self._last_S[: self.live], self._positions_S[: self.live]

    def next_uniforms(self) -> Tensor:
        """Return the random number (B,) of each row's next token."""
        return self._uniforms_ST[: self.live].gather(1, self._counts_S[: self.live, None])[:, 0]

    def append(self, ids_B: Tensor, logprobs_B: Tensor) -> None:
        """Record one more token per row."""
        live, at_B1 = slice(self.live), self._counts_S[: self.live, None]
        self._ids_ST[live].scatter_(1, at_B1, ids_B[:, None])
        self._logprobs_ST[live].scatter_(1, at_B1, logprobs_B[:, None])
        self._last_S[live] = ids_B
        self._positions_S[live] += 1
        self._counts_S[live] += 1

    def full(self) -> Tensor:
        """Return which rows have as many tokens as they may have, bool (B,)."""
        return self._counts_S[: self.live] >= self._limits_S[: self.live]

    def owner(self, row: int) -> tuple[int, int]:
        """Return (prompt index, draw) of a row."""
        return self._owners[row]

    def completion(self, row: int) -> tuple[Tensor, Tensor]:
        """Return the ids and log-probabilities of a row so far."""
        count = int(self._counts_S[row])
        return self._ids_ST[row, :count], self._logprobs_ST[row, :count]

    def move(self, to: Sequence[int], source: Sequence[int], live: int) -> None:
        """Copy rows ``source`` onto rows ``to``, after which ``live`` rows are left."""
        self.live = live
        if not to:
            return
        to_R, source_R = (torch.tensor(x, device=self._device) for x in (to, source))
        for state in (
            self._ids_ST,
            self._logprobs_ST,
            self._uniforms_ST,
            self._last_S,
            self._positions_S,
            self._counts_S,
            self._limits_S,
        ):
            state[to_R] = state[source_R]
        for place, row in zip(to, source, strict=True):
            self._owners[place] = self._owners[row]
