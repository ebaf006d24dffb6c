"""Reading verl's config, whether it is a `DictConfig` or nested dicts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
