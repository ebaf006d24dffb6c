"""From what the user gave to a reward, and to the bytes from which another process builds the same reward."""

from __future__ import annotations

import inspect
import io
import pickle
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeGuard

from winnow import errors
from winnow.reward.base import Reward
from winnow.reward.function import Function
from winnow.reward.loading import load


def as_reward(function: Reward | str | Callable[..., Any], max_error_rate: float) -> Reward:
    """Build the reward to score with.

    Args:
        function: a reward, the specification of one (see `winnow.reward.load`), or a function.
        max_error_rate: the limit for a function; rewards bring their own.

    Raises:
        ConfigError: if it is none of these or cannot be loaded.
    """
    if isinstance(function, str):
        return load(function)
    if is_reward(function):
        return function
    if not callable(function) or isinstance(function, type):
        raise errors.ConfigError(
            f"Pool needs a reward, a function, or a specification such as 'math' or 'file.py:function', "
            f"got {function!r}"
        )
    return Function(_reference(function), max_error_rate=max_error_rate)


def is_reward(function: object) -> TypeGuard[Reward]:
    """Whether this is a reward already."""
    return not isinstance(function, type) and hasattr(function, "score") and hasattr(function, "name")


def packed(reward: Reward) -> bytes | str:
    """Pickle a reward for a fresh interpreter, or say why it cannot be built there."""
    buffer = io.BytesIO()
    try:
        _Packer(buffer, protocol=5).dump(reward)
    except _Unreachable as error:
        return str(error)
    except Exception as error:
        # Objects raise whatever they like when they are pickled (TypeError for a lock, AttributeError for a lambda).
        return f"it cannot be pickled ({type(error).__name__}: {error})"
    return buffer.getvalue()


class _Unreachable(Exception):
    pass


class _Packer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if inspect.isroutine(value) or isinstance(value, type):
            why = _unreachable(value)
            if why:
                raise _Unreachable(why)
        return NotImplemented


def _unreachable(value: Any) -> str:
    name = getattr(value, "__qualname__", repr(value))
    module = getattr(value, "__module__", None)
    if "<lambda>" in name:
        return f"{name} is a lambda"
    if "<locals>" in name:
        return f"{name} is defined inside a function"
    if module == "__main__":
        return f"{name} is defined in the main program or a notebook"
    if module is not None and not _importable(sys.modules.get(module)):
        return f"{name} is in {module}, which cannot be imported by name"
    return ""


def _importable(module: ModuleType | None) -> bool:
    """Whether a fresh interpreter with our ``sys.path`` would import this very file by the module's name."""
    if module is None:
        return False
    spec = getattr(module, "__spec__", None)
    if spec is None or not spec.has_location:
        return spec is not None
    path = None
    parent = module.__name__.rpartition(".")[0]
    if parent:
        if not _importable(sys.modules.get(parent)):
            return False
        path = getattr(sys.modules[parent], "__path__", None)
    found: str | None = spec.origin
    return _found(module.__name__, path) == found


def _found(name: str, path: Any) -> str | None:
    for finder in sys.meta_path:
        # Only `find_spec` makes a finder, says the language reference; old ones lack it.
        find = getattr(finder, "find_spec", None)
        spec = find(name, path) if find is not None else None
        if spec is not None:
            origin: str | None = spec.origin
            return origin
    return None


def _reference(function: Callable[..., Any]) -> str | Callable[..., Any]:
    """Name a function of a file that cannot be imported as a module by the file; others stand for themselves."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__qualname__", "")
    file = getattr(module, "__file__", None)
    if module is None or module.__name__ == "__main__" or "<" in name or not inspect.isfunction(function):
        return function
    if _importable(module) or not str(file).endswith(".py"):
        return function
    return f"{file}:{name}"
