"""Compact prompts for character-level models: what a question asks, in a dozen characters.

The full questions of reasoning-gym take 60 to 370 characters, nearly all of it the same wording each time,
and a model that reads characters pays for each. A renderer rebuilds the question from the item's metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Metadata = Mapping[str, Any]


def chain_sum(metadata: Metadata) -> str:
    """``4 - 1`` becomes ``4-1=``."""
    return str(metadata["expression"]).replace(" ", "") + "="


def simple_equations(metadata: Metadata) -> str:
    """``3*k + 5 = 20`` becomes ``3*x+5=20:``; the letter never matters, so it is always x."""
    equation = re.sub(rf"\b{metadata['variable']}\b", "x", str(metadata["equation"]))
    return equation.replace(" ", "") + ":"


def countdown(metadata: Metadata) -> str:
    """Numbers 19, 9, 3 and target 13 become ``19,9,3:13=``."""
    return f"{','.join(map(str, metadata['numbers']))}:{metadata['target']}="


RENDERERS: Mapping[str, Callable[[Metadata], str]] = {
    "chain_sum": chain_sum,
    "countdown": countdown,
    "simple_equations": simple_equations,
}
"""The renderer of each family that has one."""
