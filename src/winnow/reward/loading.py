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
from winnow.reward.thinking import Thinking

NAMES = ("exact", "math", "code", "think")

# What ends a term, so that a path may itself contain a plus sign.
_FUNCTION = re.compile(r":[\w.]+$")


def load(spec: str, **options: Any) -> Reward:
    """Build the reward a specification names.

    Args:
        spec: ``exact``, ``math``, ``code``, ``think``, ``path/to/file.py:function``, ``package.module:function``, or
            several of these joined by ``+``, whose scores are added.
        **options: the options of that reward: see `Exact`, `winnow.reward.math.Math`, `winnow.reward.code.Code` and
            `Function`. For a sum: ``weights``, one number per term (all 1 by default), and options of its terms, each
            given to every term that has it.

    Raises:
        ConfigError: for an unknown reward or option, or a function that cannot be loaded.
        MissingExtra: for ``math`` without the extra ``math``.
    """
    terms = _terms(spec)
    if len(terms) == 1:
        return _one(terms[0], options)
    weights: Sequence[float] | None = options.pop("weights", None)
    known = {term: set(inspect.signature(_factory(term)).parameters) for term in terms}
    for name in options:
        if not any(name in names for names in known.values()):
            raise errors.unknown(f"option of reward {spec!r}", name, {"weights"}.union(*known.values()))
    parts = [_one(term, {name: options[name] for name in options if name in known[term]}) for term in terms]
    return Combined(parts, weights)


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
    if spec == "code":
        from winnow.reward.code import Code

        return Code
    if spec == "think":
        return Thinking
    if ":" in spec:
        return functools.partial(Function, spec)
    if spec.endswith(".py"):
        raise errors.ConfigError(f"reward {spec!r} names a file but no function in it: write {spec}:NAME")
    raise errors.ConfigError(
        f"unknown reward {spec!r}{errors.did_you_mean(spec, NAMES)} "
        f"(allowed: {', '.join(NAMES)}, path/to/file.py:function, package.module:function)"
    )
