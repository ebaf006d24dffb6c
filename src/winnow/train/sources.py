"""Where settings come from: defaults, a TOML file, flags; and the file that records the result."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import tomli_w

from winnow.errors import ConfigError
from winnow.train.config import TrainConfig, unknown_key

Source = Literal["default", "file", "flag"]
Provenance = dict[str, Source]

_TABLES = ("task_options", "recipe_options")


def load_config(path: Path | None, overrides: Mapping[str, Any]) -> tuple[TrainConfig, Provenance]:
    """Lay flags over a file over the defaults.

    Args:
        path: a TOML file, or None.
        overrides: settings by name; ``"task_options.spread"`` reaches into a table. Text is read as the type
            of the setting; inside tables as a TOML value where it is one, else as text.

    Returns:
        The configuration, and for each setting (dotted inside tables) where its value came from.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or a value is not allowed.
    """
    values: dict[str, Any] = {}
    provenance: Provenance = dict.fromkeys(TrainConfig.model_fields, "default")
    if path is not None:
        for name, value in _flatten(_read(path)).items():
            _put(values, provenance, name, value, "file", str(path))
    for name, value in overrides.items():
        _put(values, provenance, name, value, "flag", "")
    return TrainConfig(**values), provenance


def write_config(config: TrainConfig, provenance: Mapping[str, str]) -> str:
    """Return the configuration as TOML that `load_config` reads back, each line with its source.

    Settings that are unset stand there as comments.
    """
    lines: list[str] = []
    tables: list[str] = []
    for name, value in config.model_dump(mode="json").items():
        if name in _TABLES:
            if value:
                tables.append(f"\n[{name}]")
                tables += [_line(key, item, provenance.get(f"{name}.{key}", "file")) for key, item in value.items()]
        elif value is None:
            lines.append(f"# {name} is not set")
        else:
            lines.append(_line(name, value, provenance.get(name, "default")))
    return "\n".join(lines + tables) + "\n"


def _line(name: str, value: Any, source: str) -> str:
    if isinstance(value, list):
        return f"{name} = [{', '.join(_scalar(item) for item in value)}]  # {source}"
    return f"{name} = {_scalar(value)}  # {source}"


def _scalar(value: Any) -> str:
    return tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n")


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such configuration file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _flatten(data: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if name in _TABLES and isinstance(value, Mapping):
            flat.update({f"{name}.{key}": item for key, item in value.items()})
        else:
            flat[name] = value
    return flat


def _put(values: dict[str, Any], provenance: Provenance, name: str, value: Any, source: Source, where: str) -> None:
    table, _, key = name.partition(".")
    if key and table in _TABLES:
        into = values.setdefault(table, {})
        *outer, last = key.split(".")
        for part in outer:
            # A table inside a table, as in task_options.reward_options.extract.
            into[part] = into = dict(into.get(part, {})) if isinstance(into.get(part, {}), Mapping) else {}
        into[last] = _literal(value) if isinstance(value, str) and source == "flag" else value
        provenance[name] = source
        provenance[table] = source
    elif name in _TABLES and isinstance(value, Mapping):
        for inner, item in value.items():
            _put(values, provenance, f"{name}.{inner}", item, source, where)
    elif name in TrainConfig.model_fields:
        values[name] = value
        provenance[name] = source
    else:
        raise ConfigError(unknown_key(name, where))


def _literal(text: str) -> Any:
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text
