"""Hold some prompts out for evaluation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from winnow.rollout import Content


def content_key(content: Content) -> str:
    """A text that two contents share exactly when they are the same prompt."""
    return content if isinstance(content, str) else json.dumps([dict(m) for m in content], sort_keys=True)


def held_out(keys: Sequence[str], fraction: float, most: int) -> list[bool]:
    """Choose which rows to hold out.

    Rows with the same key stay on one side, so that no prompt is both trained and tested. The choice
    depends on the keys alone (those with the smallest SHA-256 go out), not on the order of the rows or a
    seed: runs with other seeds are tested on the same prompts.

    Args:
        keys: one key per row, see `content_key`.
        fraction: share of the distinct keys to hold out, in [0, 1).
        most: the most keys to hold out.

    Returns:
        For each row, whether it is held out. At least one key is if ``fraction`` > 0 and there are two
        keys; at least one never is.
    """
    distinct = set(keys)
    wanted = min(most, len(distinct) - 1, max(1, round(fraction * len(distinct)))) if fraction > 0 else 0
    ranked = sorted(distinct, key=lambda key: hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest())
    out = set(ranked[: max(0, wanted)])
    return [key in out for key in keys]
