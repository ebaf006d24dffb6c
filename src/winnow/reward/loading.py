"""From a word on the command line to a reward."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.reward.base import Reward
from winnow.reward.combined import Combined
from winnow.reward.exact import Exact
from winnow.reward.function import Function

NAMES = ("exact", "math")

# What ends a term, so that a path may itself contain a plus sign.
_FUNCTION = re.compile(r":[\w.]+$")


def load(spec: str, **options: Any) -> Reward:
    """Build the reward a specification names.

    Args:
        spec: ``exact``, ``math``, ``path/to/file.py:function``, ``package.module:function``, or several of
            these joined by ``+``, whose scores are added.
        **options: the options of that reward: see `Exact`, `winnow.reward.math.Math` and `Function`. For a
            sum: ``weights``, one number per term (all 1 by default).

    Raises:
        ConfigError: for an unknown reward or option, or a function that cannot be loaded.
        MissingExtra: for ``math`` without the extra ``math``.
    """
    terms = _terms(spec)
    if len(terms) == 1:
        return _one(terms[0], options)
    weights: Sequence[float] | None = options.pop("weights", None)
    if options:
        raise errors.unknown("option of a sum of rewards", next(iter(options)), ["weights"])
    return Combined([_one(term, {}) for term in terms], weights)


def _terms(spec: str) -> list[str]:
    terms: list[str] = []
    pending = ""
    for piece in spec.split("+"):
        pending = f"{pending}+{piece}" if pending else piece
        if pending.strip() in NAMES or _FUNCTION.search(pending.strip()):
            terms.append(pending.strip())
            pending = ""
    if pending.strip():
        return [spec.strip()]
    return terms or [spec]


def _one(spec: str, options: Mapping[str, Any]) -> Reward:
    factory = _factory(spec)
    allowed = inspect.signature(factory).parameters
    for name in options:
        if name not in allowed:
            raise errors.unknown(f"option of reward {spec!r}", name, allowed)
    return factory(**options)


def _factory(spec: str) -> Callable[..., Reward]:
    if spec == "exact":
        return Exact
    if spec == "math":
        from winnow.reward.math import Math

        return Math
    if ":" in spec:
        return functools.partial(Function, spec)
    if spec.endswith(".py"):
        raise errors.ConfigError(f"reward {spec!r} names a file but no function in it: write {spec}:NAME")
    raise errors.ConfigError(
        f"unknown reward {spec!r}{errors.did_you_mean(spec, NAMES)} "
        f"(allowed: {', '.join(NAMES)}, path/to/file.py:function, package.module:function)"
    )
