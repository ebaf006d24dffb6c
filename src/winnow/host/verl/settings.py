"""Reading verl's config, whether it is a `DictConfig` or nested dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winnow.errors import ConfigError

Settings = Mapping[str, Any]
"""A section of the config; omegaconf's `DictConfig` behaves as one without being registered as one."""


def value(config: Settings, path: str, default: Any = None) -> Any:
    """Return the setting at a dotted path, ``default`` where any part of it is missing or null."""
    found: Any = config
    for name in path.split("."):
        if found is None or name not in found:
            return default
        found = found[name]
    return default if found is None else found


def whole(config: Settings, path: str, least: int, default: int | None = None) -> int:
    """Return the whole number at a dotted path, ``default`` where any part of it is missing or null.

    Raises:
        ConfigError: it is below ``least``, no whole number (1.5, 8.0, True, a text), or missing without a default.
    """
    found = value(config, path, default)
    if not isinstance(found, int) or isinstance(found, bool) or found < least:
        raise ConfigError(f"{path}={found!r}: set it to a whole number >= {least}")
    return found
