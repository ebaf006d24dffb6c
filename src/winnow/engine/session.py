"""A session: prompts, a queue of requests, and the rows being decoded now."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from winnow.engine.checks import check_prompts
from winnow.engine.modes import evaluating
from winnow.engine.rows import Rows
from winnow.engine.sampling import draw
from winnow.errors import ConfigError, SafetyStop
from winnow.rollout import Rollout

if TYPE_CHECKING:
    from winnow.engine.sampler import Sampler

PREFILL_TOKENS = 8192  # padded prompt tokens per forward pass
PREFILL_LOGITS = 1 << 26  # logits per forward pass


class Session:
    """Rollouts of one set of prompts, in any order and number, decoded in one batch refilled as rows finish.

    Open it with ``Sampler.session``. ``submit`` queues requests, ``advance`` decodes until something
    finishes; both may be called in any order, so requests can join while other rollouts are in flight.
    """

    def __init__(
        self, sampler: Sampler, prompts: Sequence[Sequence[int]], seed: int | Sequence[int], forks: bool = False
    ) -> None:
        self._sampler = sampler
        self._prompts = [list(map(int, prompt)) for prompt in prompts]
        self._limits = [sampler.max_new_tokens] * len(self._prompts)
        self._forks = forks
        check_prompts(self._prompts, sampler)
        device = next(sampler.model.parameters()).device
        self._rows = Rows(sampler.slots, sampler.max_new_tokens, seed, device)
        self._capacity = sampler.slots if forks else min(sampler.slots, len(self._prompts))
        longest = max(map(len, self._prompts)) + (sampler.max_new_tokens - 1 if forks else 0)
        self._decoder = sampler.decoder(self._capacity, longest)
        self._queue: deque[tuple[int, int]] = deque()
        self._draws = [0] * len(self._prompts)
        # Prompt -> entry of the decoder, least recently used first.
        self._entries: OrderedDict[int, int] = OrderedDict()
        self._spare = list(range(self._capacity))[::-1]
        self._first_logits: Tensor | None = None
        self._holes: list[int] = []
        self._stop = torch.tensor(sampler.stop_ids, device=device, dtype=torch.int64)
        self.tokens = 0

    @property
    def in_flight(self) -> int:
        """Rollouts being decoded."""
        return self._rows.live - len(self._holes)

    @property
    def queued(self) -> int:
        """Rollouts submitted and not begun."""
        return len(self._queue)

    @property
    def free(self) -> int:
        """Slots neither decoding nor spoken for by the queue."""
        return max(0, self._sampler.slots - self.in_flight - self.queued)

    def extend(self, prompt: int, ids: Sequence[int]) -> int:
        """Add a prompt that continues one of the session; return its index.

        Its rollouts share the keys and values of prompt and ``ids``, which go through the model once, and may have the
        tokens that ``ids`` leave of ``max_new_tokens``.

        Raises:
            ConfigError: if the session was not opened with ``forks=True``, or ``ids`` leave no token.
        """
        if not self._forks:
            raise ConfigError("extend: open the session with forks=True, so that its cache has room for longer prompts")
        left = self._limits[prompt] - len(ids)
        if left < 1:
            raise ConfigError(f"extend: {len(ids)} tokens leave none of the {self._limits[prompt]} that may be sampled")
        self._prompts.append(self._prompts[prompt] + [int(token) for token in ids])
        self._limits.append(left)
        self._draws.append(0)
        return len(self._prompts) - 1

    def submit(self, requests: Iterable[tuple[int, int]]) -> None:
        """Queue ``count`` more rollouts for each (prompt index, count); draws are numbered on from the last.

        Raises:
            ConfigError: for an index outside the prompts or a negative count; nothing of the call is queued.
        """
        asked = [(int(prompt), int(count)) for prompt, count in requests]
        for prompt, count in asked:
            if not 0 <= prompt < len(self._prompts):
                raise ConfigError(f"prompt index {prompt} is not among 0 to {len(self._prompts) - 1}")
            if count < 0:
                raise ConfigError(f"prompt {prompt} was given {count} rollouts; a count must be >= 0")
        for prompt, count in asked:
            begin = self._draws[prompt]
            self._draws[prompt] += count
            self._queue.extend((prompt, number) for number in range(begin, begin + count))

    def advance(self) -> list[Rollout]:
        """Decode until at least one rollout finishes.

        Returns:
            The rollouts that finished, in no promised order; empty only when nothing is queued or in flight.

        Raises:
            SafetyStop: when the model's logits are not finite.
        """
        finished: list[Rollout] = []
        with evaluating(self._sampler.model):
            while not finished and (self._queue or self.in_flight):
                self._admit(finished)
                if self._rows.live:
                    self._decode(finished)
        return finished

    def _admit(self, finished: list[Rollout]) -> None:
        """Begin queued rollouts while slots are free; one that ends with its first token never takes a slot."""
        while self._queue and self.in_flight < self._sampler.slots:
            count = min(len(self._queue), self._sampler.slots - self.in_flight)
            batch = [self._queue.popleft() for _ in range(count)]
            entry_of, logits_EV = self._prefill([prompt for prompt, _ in batch])
            entries = [entry_of[prompt] for prompt, _ in batch]
            uniforms_RT = self._rows.noise(batch)
            ids_R, logprobs_R = draw(logits_EV[entries], uniforms_RT[:, 0], self._sampler.rule)
            self.tokens += count
            single_R = torch.tensor([self._limits[prompt] == 1 for prompt, _ in batch], device=ids_R.device)
            ended = self._ends(ids_R, single_R)
            finished += [self._rollout(*batch[i], ids_R[i : i + 1], logprobs_R[i : i + 1]) for i in ended]
            going = sorted(set(range(count)) - set(ended))
            if going:
                places = self._places(len(going))
                self._rows.begin(
                    places,
                    [batch[i] for i in going],
                    [len(self._prompts[batch[i][0]]) for i in going],
                    [self._limits[batch[i][0]] for i in going],
                    ids_R[going],
                    logprobs_R[going],
                    uniforms_RT[going],
                )
                self._decoder.join(places, [entries[i] for i in going])
        self._close_holes()

    def _places(self, count: int) -> list[int]:
        """Return rows for ``count`` rollouts: those of finished ones first, then new ones at the end."""
        refilled = self._holes[:count]
        del self._holes[:count]
        begin = self._rows.live
        return refilled + list(range(begin, begin + count - len(refilled)))

    def _close_holes(self) -> None:
        if not self._holes:
            return
        live = self.in_flight
        holes = sorted(hole for hole in self._holes if hole < live)
        dead = set(self._holes)
        movers = [row for row in range(live, self._rows.live) if row not in dead]
        self._decoder.move(holes, movers, live)
        self._rows.move(holes, movers, live)
        self._holes = []

    def _prefill(self, prompts: Sequence[int]) -> tuple[dict[int, int], Tensor]:
        """Make sure the prompts are in the decoder; return the entry of each and the logits of all entries.

        When entries run out, the prompt used longest ago that no live row stands behind makes room.
        """
        wanted = dict.fromkeys(prompts)
        dead = set(self._holes)
        busy = {self._rows.owner(row)[0] for row in range(self._rows.live) if row not in dead} | set(wanted)
        missing = []
        for prompt in wanted:
            if prompt in self._entries:
                self._entries.move_to_end(prompt)
                continue
            if not self._spare:
                victim = next(known for known in self._entries if known not in busy)
                self._spare.append(self._entries.pop(victim))
            self._entries[prompt] = self._spare.pop()
            missing.append(prompt)
        for chunk in self._chunks(missing):
            entries = [self._entries[prompt] for prompt in chunk]
            logits_RV = self._decoder.prefill(entries, [self._prompts[prompt] for prompt in chunk])
            if self._first_logits is None:
                self._first_logits = logits_RV.new_zeros(self._capacity, logits_RV.shape[-1])
            self._first_logits[entries] = logits_RV
        assert self._first_logits is not None
        return {prompt: self._entries[prompt] for prompt in wanted}, self._first_logits

    def _chunks(self, prompts: list[int]) -> Iterable[list[int]]:
        vocabulary = self._sampler.model.config.get_text_config().vocab_size
        chunk: list[int] = []
        for prompt in sorted(prompts, key=lambda index: len(self._prompts[index])):
            rows, width = len(chunk) + 1, len(self._prompts[prompt])
            if chunk and (rows * width > PREFILL_TOKENS or rows * rows * vocabulary > PREFILL_LOGITS):
                yield chunk
                chunk = []
            chunk.append(prompt)
        if chunk:
            yield chunk

    def _decode(self, finished: list[Rollout]) -> None:
        rows = self._rows
        logits_BV = self._decoder.step(*rows.pending())
        ids_B, logprobs_B = draw(logits_BV, rows.next_uniforms(), self._sampler.rule)
        rows.append(ids_B, logprobs_B)
        self.tokens += rows.live
        ended = self._ends(ids_B, rows.full())
        finished += [self._rollout(*rows.owner(row), *rows.completion(row)) for row in ended]
        self._holes = ended

    def _ends(self, ids_B: Tensor, full_B: Tensor) -> list[int]:
        stopped_B = torch.isin(ids_B, self._stop) | full_B
        ended: list[int] = stopped_B.nonzero()[:, 0].tolist()
        return ended

    def _rollout(self, prompt: int, number: int, ids_T: Tensor, logprobs_T: Tensor) -> Rollout:
        ids, logprobs = ids_T.cpu().numpy().copy(), logprobs_T.cpu().numpy().copy()
        if not np.isfinite(logprobs).all():
            raise SafetyStop(
                "the model gave logits that are not finite; its weights are probably broken: "
                "lower the learning rate or load an earlier checkpoint"
            )
        stopped = int(ids[-1]) in self._sampler.stop_ids
        return Rollout(prompt, number, ids, logprobs, "stop" if stopped else "length", self.decode(ids))

    def decode(self, ids: npt.NDArray[np.int64]) -> str:
        """Return ids as text without special tokens, empty where the sampler has no tokenizer."""
        tokenizer = self._sampler.tokenizer
        return str(tokenizer.decode(ids, skip_special_tokens=True)) if tokenizer is not None else ""
