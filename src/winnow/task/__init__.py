"""Tasks: prompts with gold answers, held-out prompts, and the reward that judges both.

``load("mix")`` is the built-in default, ``load("code")`` small programs judged by tests,
``load("reasoning-gym:NAME")`` a family of reasoning-gym, and everything else is the path of a data file (JSONL,
JSON, CSV, TSV, Parquet or Arrow) or of a folder of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from winnow import errors
from winnow.task.record import Task, fingerprint

__all__ = ["BUILT_IN", "Task", "data_path", "fingerprint", "load"]

GYM = "reasoning-gym:"

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {
        "mix": "short arithmetic by levels of difficulty, with a pretrained policy",
        "code": "small functions to write, judged by tests",
        f"{GYM}NAME": "a family of reasoning-gym, such as reasoning-gym:chain_sum",
    }
)


def load(spec: str, *, seed: int = 0, options: Mapping[str, Any] = MappingProxyType({})) -> Task:
    """Load the task a specification names.

    Args:
        spec: ``mix``, ``code``, ``reasoning-gym:NAME``, or the path of a data file or folder.
        seed: seed of generated tasks; files do not depend on it.
        options: options of that task; see ``winnow.task.options.FileOptions`` for files.

    Raises:
        ConfigError: if ``spec`` is none of these, or an option is unknown or out of range.
        DataError: if the file or some of its rows cannot be used.
        MissingExtra: if a package the task needs is not installed.
    """
    path = data_path(spec)
    if path is not None:
        from winnow.task import files

        return files.load(path, seed, options)
    if spec in BUILT_IN or spec.startswith(GYM):
        _refuse_file_options(spec, options)
    if spec == "mix":
        from winnow.task import mix

        return mix.load(seed, options)
    if spec == "code":
        from winnow.task import code

        return code.load(seed, options)
    if spec.startswith(GYM):
        from winnow.task import gym

        return gym.load(spec.removeprefix(GYM), seed, options)
    raise errors.ConfigError(_no_task(spec))


def data_path(spec: str) -> Path | None:
    """Return the file or folder a specification names; None if there is none, or it names a built-in task."""
    if not spec.strip() or spec in BUILT_IN or spec.startswith(GYM) or "\0" in spec:
        return None
    path = _expanded(spec)
    return path if path.is_file() or path.is_dir() else None


def _expanded(spec: str) -> Path:
    try:
        return Path(spec).expanduser()
    except RuntimeError:
        return Path(spec)


def _exists(spec: str) -> bool:
    path = _expanded(spec)
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True


def _refuse_file_options(spec: str, options: Mapping[str, Any]) -> None:
    for name, what in (("reward", "reward"), ("prompt_column", "prompts"), ("answer_column", "answers")):
        if name in options:
            raise errors.ConfigError(
                f"{name}={options[name]!r}: the built-in task {spec} brings its own {what}; leave this option out, or "
                "name a data file as the task"
            )


def _no_task(spec: str) -> str:
    built_in = "; ".join(f"{name} ({what})" for name, what in BUILT_IN.items())
    allowed = (
        f"built-in tasks: {built_in}; or the path of a data file (jsonl, json, csv, tsv, parquet, arrow) or folder"
    )
    path = Path(spec)
    if spec.strip() and "\0" not in spec and _exists(spec):
        return (
            f"task {spec!r} is a pipe, a device or a broken link, and no file; copy what it holds into one ({allowed})"
        )
    if path.suffix or len(path.parts) > 1:
        folder = _expanded(spec).parent
        near = [p.name for p in folder.iterdir()] if folder.is_dir() else []
        return (
            f"task {spec!r}: no such file{errors.did_you_mean(path.name, near)} (searched from {Path.cwd()}; {allowed})"
        )
    near = [*BUILT_IN, GYM, *(p.name for p in Path.cwd().iterdir())]
    return f"unknown task {spec!r}{errors.did_you_mean(spec, near)} ({allowed})"
