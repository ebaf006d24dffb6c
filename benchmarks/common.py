"""What every benchmark records beside its numbers: versions, threads, and what else the machine was doing."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from winnow.errors import WinnowError

PACKAGES = ("numpy", "torch", "transformers", "trl", "winnow-rl")


def environment() -> dict[str, Any]:
    """Return what a reader needs to judge a timing."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "time": time.strftime("%Y-%m-%d %H:%M"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "default"),
        "load_average": os.getloadavg()[0],
        "versions": found,
        "command": " ".join(["python", *sys.argv]),
    }


def save(path: str, content: dict[str, Any]) -> None:
    """Write results as JSON together with the environment."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps({"environment": environment(), **content}, indent=1) + "\n")
    print(f"written to {target}")


def table(results: list[dict[str, Any]]) -> None:
    """Print one line per result."""
    width = max(len(str(result["name"])) for result in results)
    for result in results:
        print(f"{result['name']:<{width}}  {result['ratio']:>8.2f}   target {result.get('target') or '-'}")


def local(value: Any, inside: bool = False) -> Any:
    """Return the last name of a path, also of one behind a ``=``; ``inside`` keeps those below this folder whole."""
    if not isinstance(value, str) or "/" not in value:
        return value
    option, sign, path = value.rpartition("=")
    return value if inside and not path.startswith(("/", "..")) else option + sign + Path(path).name


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows])


@contextmanager
def reported() -> Iterator[None]:
    """End the process with one line for bad input and for Ctrl-C, of a command that goes on where it was stopped."""
    try:
        yield
    except WinnowError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
