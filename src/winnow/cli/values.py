"""Text from the command line read as values: ``8``, ``0.5``, ``true``, ``[1, 2]``, else the text itself."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from winnow.errors import ConfigError

if TYPE_CHECKING:
    from winnow.compare import Arm

SHORT = {"prompts": "prompts_per_step"}


def literal(text: str) -> Any:
    """Read ``text`` as a TOML value where it is one on a single line, else return it unchanged."""
    if "\n" in text:
        return text
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def assignment(text: str, where: str) -> tuple[str, Any]:
    """Split ``key=value``; the key is stripped and its short form expanded.

    Raises:
        ConfigError: there is no ``=`` or nothing before it.
    """
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ConfigError(f"{where} {text!r}: expected key=value")
    return SHORT.get(key, key), literal(value.strip())


def arm(text: str) -> Arm:
    """Read ``NAME`` or ``NAME:key=value,key=value`` as an arm of a comparison.

    A key that is a training setting (``lr``, ``prompts``, ``n``, ``m``) sets that; any other key, and
    one that starts with ``recipe_options.``, is an option of the recipe. Inside brackets a comma does not separate.

    Raises:
        ConfigError: an override is not ``key=value``.
    """
    from winnow.compare import Arm
    from winnow.train.config import TrainConfig

    name, colon, options = text.partition(":")
    if colon and not options.strip():
        raise ConfigError(f"recipe {text!r}: nothing follows the colon; write NAME:key=value,...")
    chosen: dict[str, Any] = {"recipe": name}
    for part in _split(options) if colon else ():
        key, value = assignment(part, f"recipe {text!r}, override")
        table = key.partition(".")[0]
        chosen[key if table in TrainConfig.model_fields else f"recipe_options.{key}"] = value
    return Arm(text, chosen)


def _split(options: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for place, character in enumerate(options):
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0:
            parts.append(options[start:place])
            start = place + 1
    return [*parts, options[start:]]
