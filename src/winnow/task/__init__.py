"""Tasks: prompts with gold answers, held-out prompts, and the reward that judges both.

``load("mix")`` is the built-in default, ``load("reasoning-gym:NAME")`` a family of reasoning-gym, and
everything else is the path of a data file (JSONL, JSON or Parquet).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow import errors
from winnow.task.record import Task, fingerprint

__all__ = ["BUILT_IN", "Task", "fingerprint", "load"]

GYM = "reasoning-gym:"

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "mix": "short arithmetic by levels of difficulty, with a pretrained policy",
        f"{GYM}NAME": "a family of reasoning-gym, such as reasoning-gym:chain_sum",
    }
)


def load(spec: str, *, seed: int = 0, options: Mapping[str, Any] = MappingProxyType({})) -> Task:
    """Load the task a specification names.

    Args:
        spec: ``mix``, ``reasoning-gym:NAME``, or the path of a data file.
        seed: seed of generated tasks; files do not depend on it.
        options: options of that task; see ``winnow.task.files.FileOptions`` for files.

    Raises:
        ConfigError: if ``spec`` is none of these, or an option is unknown or out of range.
        DataError: if the file or some of its rows cannot be used.
        MissingExtra: if a package the task needs is not installed.
    """
    if spec == "mix" or spec.startswith(GYM):
        _refuse_file_options(spec, options)
    if spec == "mix":
        from winnow.task import mix

        return mix.load(seed, options)
    if spec.startswith(GYM):
        from winnow.task import gym

        return gym.load(spec.removeprefix(GYM), seed, options)
    path = Path(spec).expanduser()
    if path.is_file():
        from winnow.task import files

        return files.load(path, seed, options)
    raise errors.ConfigError(_no_task(spec, path))


def _refuse_file_options(spec: str, options: Mapping[str, Any]) -> None:
    for name, what in (("reward", "reward"), ("prompt_column", "prompts"), ("answer_column", "answers")):
        if name in options:
            raise errors.ConfigError(
                f"{name}={options[name]!r}: the built-in task {spec} brings its own {what}; leave this option out, or "
                "name a data file as the task"
            )


def _no_task(spec: str, path: Path) -> str:
    built_in = "; ".join(f"{name} ({what})" for name, what in BUILT_IN.items())
    allowed = f"built-in tasks: {built_in}; or the path of a .jsonl, .json or .parquet file"
    if path.is_dir():
        inside = sorted(p.name for p in path.iterdir() if p.suffix in (".jsonl", ".json", ".parquet"))
        hint = f"; it holds {', '.join(inside[:5])}" if inside else ""
        return f"task {spec!r} is a folder: name a file in it{hint} ({allowed})"
    if path.suffix or len(path.parts) > 1:
        folder = path.parent
        near = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        return (
            f"task {spec!r}: no such file{errors.did_you_mean(path.name, near)} (searched from {Path.cwd()}; {allowed})"
        )
    return f"unknown task {spec!r}{errors.did_you_mean(spec, ('mix', 'reasoning-gym:'))} ({allowed})"
