"""What VIP expects of each prompt before it is drawn: a Gaussian process over prompt vectors."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import numpy as np

from winnow.candidates import Candidates
from winnow.errors import ConfigError
from winnow.groups import FloatArray, IntArray
from winnow.memory import Memory


def logit(rates: FloatArray) -> FloatArray:
    """Return ``log(p / (1-p))``."""
    return np.log(rates) - np.log1p(-rates)


def sigmoid(latent: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-g))``."""
    return 1 / (1 + np.exp(-latent))


class Predictor:
    """Pass rates as ``sigmoid(g)`` with a mean function g that every step moves (VIP, arXiv 2602.01601, section 5.1).

    The kernel is ``exp(-d^2 / 2 l^2)`` over the distance d of prompt vectors. A step that saw pass rates r of prompts
    b moves the mean of every prompt, ``m += K[:, b] (K[b, b] + noise I)^-1 (logit(r) - m[b])``, and then sets
    ``m[b] = logit(r)``. The mean is carried over, the kernel stays the prior one, as in the paper.

    The paper moves the means of a pool it has at hand. Here prompts become known as they come up: those known are
    moved, and one that comes up later starts from the sum of all moves so far, as if it had been known from the start.

    Ours: rates are clipped to ``[clip_rate, 1 - clip_rate]`` before the logit and every mean to twice the logit of
    that (the authors' code clips at 1e-6, so that one failed group writes -13.8 and drags its neighbours along);
    without vectors each prompt is predicted by its own last rate, and a new one by the prior. Vectors are kept in
    single precision, and in checkpoints.

    The noise of the paper, 1e-4, takes the rates of a few rollouts for exact. Where vectors say little about pass
    rates, the moves then follow the luck of single groups, and the split that comes of it is worse than a uniform one.
    The logit of a rate over n rollouts has the variance ``1 / (n p (1-p))``: 0.5 to 2.6 for 8 rollouts at the rates
    that the clip leaves. A noise of that size keeps what neighbours have in common and little else.

    Args:
        prior: mean of g before anything is known; 0 is a rate of one half.
        length_scale: l; 0 takes the median distance between the prompts of the first step with two different ones.
        clip_rate: see above, in (0, 0.5).
        noise: variance of an observed logit, above 0; it also keeps near-duplicate prompts solvable.

    Complexity: a step over P prompts costs O(M P D + P^3) with M known prompts, a prediction O(M P D).
    """

    def __init__(self, prior: float, length_scale: float, clip_rate: float, noise: float) -> None:
        self._prior, self._noise, self._clip = prior, noise, clip_rate
        self._bound = 2 * float(logit(np.array(1 - clip_rate)))
        self._scale = length_scale
        self._memory = Memory(latent=prior, move=0.0)
        self._vectors: FloatArray | None = None

    def rates(self, prompts: Candidates) -> FloatArray:
        """Return the expected pass rate (P,) of each prompt."""
        return sigmoid(self.latent(prompts))

    def latent(self, prompts: Candidates) -> FloatArray:
        """Return g (P,).

        Raises:
            ConfigError: if vectors were given in earlier steps and not now, or the other way round.
        """
        vectors = self._checked(prompts)
        latent = self._memory.get("latent", prompts.ids)
        if vectors is not None and self._vectors is not None and self._scale:
            new = ~self._memory.known(prompts.ids)
            latent[new] += self._kernel(vectors[new], self._vectors) @ self._memory.column("move")
        return np.clip(latent, -self._bound, self._bound)

    def observe(self, prompts: Candidates, rates: FloatArray) -> None:
        """Move the mean to the pass rates (P,) of a step; prompts without one are left out by the caller."""
        if not len(prompts):
            return
        vectors, ids = self._checked(prompts), prompts.ids
        target = logit(np.clip(rates, self._clip, 1 - self._clip))
        latent = self.latent(prompts)
        if vectors is not None:
            new = ~self._memory.known(ids)
            self._memory.set("latent", ids, latent)
            self._vectors = vectors if self._vectors is None else np.concatenate((self._vectors, vectors[new]))
            self._scale = self._scale or _median_distance(vectors)
            if self._scale:
                gram = self._kernel(vectors, vectors) + self._noise * np.eye(len(ids))
                move = np.linalg.solve(gram, target - latent)
                moved = self._memory.column("latent") + self._kernel(self._vectors, vectors) @ move
                self._memory.set("latent", self._memory.ids, np.clip(moved, -self._bound, self._bound))
                self._memory.add("move", ids, move)
        self._memory.set("latent", ids, target)

    def _kernel(self, one: FloatArray, two: FloatArray) -> FloatArray:
        return np.exp(-_squared_distances(one, two) / (2 * self._scale**2))

    def _checked(self, prompts: Candidates) -> FloatArray | None:
        if len(self._memory) and (prompts.features is None) != (self._vectors is None):
            before, now = ("none", "some") if self._vectors is None else ("some", "none")
            raise ConfigError(f"Vip: features={now} in this step, {before} in those before: give them always or never")
        if prompts.features is None:
            return None
        if self._vectors is not None and prompts.features.shape[1] != self._vectors.shape[1]:
            raise ConfigError(
                f"Vip: features have {prompts.features.shape[1]} numbers per prompt, {self._vectors.shape[1]} before"
            )
        return prompts.features.astype(np.float32).astype(np.float64)

    def state_dict(self) -> dict[str, Any]:
        """Return means, moves, scale, and the vectors as text (base64 of little-endian single precision)."""
        vectors = None
        if self._vectors is not None:
            text = b64encode(self._vectors.astype("<f4").tobytes()).decode("ascii")
            vectors = {"size": self._vectors.shape[1], "text": text}
        return {"memory": self._memory.state_dict(), "scale": self._scale, "vectors": vectors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state_dict`."""
        self._memory.load_state_dict(state["memory"])
        self._scale, self._vectors = float(state["scale"]), None
        if state["vectors"] is not None:
            flat = np.frombuffer(b64decode(state["vectors"]["text"]), "<f4").astype(np.float64)
            self._vectors = flat.reshape(-1, state["vectors"]["size"])


def _squared_distances(one: FloatArray, two: FloatArray) -> FloatArray:
    squares: FloatArray = (one**2).sum(1)[:, None] + (two**2).sum(1) - 2 * one @ two.T
    return squares.clip(0.0)


def _median_distance(vectors: FloatArray) -> float:
    upper: tuple[IntArray, IntArray] = np.triu_indices(len(vectors), 1)
    distances = np.sqrt(_squared_distances(vectors, vectors)[upper])
    apart = distances[distances > 1e-6]
    return float(np.median(apart)) if len(apart) else 0.0
