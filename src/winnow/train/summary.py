"""What is left of a run in one JSON object, with the versions that made it."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from winnow.train.weights import weights_sha256

if TYPE_CHECKING:
    from winnow.train.loop import Loop

Summary = dict[str, Any]
"""``summary.json``: see the attributes documented in `winnow.train.Trainer.run`."""

EXIT_DONE, EXIT_INTERRUPTED = 0, 130

_PACKAGES = ("numpy", "torch", "transformers", "peft", "safetensors", "math-verify", "reasoning-gym")


def summarise(loop: Loop, *, stopped: str, exit_code: int, wall: float) -> Summary:
    """Return the summary of a run; see `winnow.train.Trainer.run` for its keys.

    Args:
        loop: the run.
        stopped: what ended it.
        exit_code: what a command should exit with.
        wall: seconds since the start of this call, loading included.
    """
    totals, setup = loop.totals, loop.setup
    return {
        "recipe": setup.recipe.name,
        "task": setup.task.name,
        "model": setup.model_name,
        "seed": loop.config.seed,
        "steps": totals.steps,
        "updates": totals.updates,
        "prompts": totals.prompts,
        "rollouts": totals.rollouts,
        "rows": totals.rows,
        "tokens": totals.tokens,
        "trained_tokens": totals.trained_tokens,
        "accuracy_first": loop.accuracy.get("first"),
        "accuracy_final": loop.accuracy.get("final"),
        "seconds": totals.seconds,
        "seconds_wall": wall,
        "weights_sha256": weights_sha256(setup.model),
        "no_signal_mean": totals.no_signal / totals.steps if totals.steps else None,
        "skipped_steps": totals.skipped,
        "stopped": stopped,
        "exit_code": exit_code,
        "ledger": loop.ledger.as_dict(),
        "peak_memory_mb": peak_memory_mb(),
        "versions": versions(),
        "out": str(loop.folder.path),
    }


def versions() -> dict[str, str]:
    """Return the versions of winnow, Python, the platform, and of the packages that are installed."""
    found = {"python": platform.python_version(), "platform": platform.platform(), "winnow": _version("winnow-rl")}
    found.update({name: _version(name) for name in _PACKAGES})
    return {name: number for name, number in found.items() if number}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def peak_memory_mb() -> float | None:
    """Return the largest resident memory this process has had, in MB; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3
