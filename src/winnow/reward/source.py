"""Find the function that ``path/to/file.py:function`` or ``package.module:function`` names."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from winnow import errors


def resolve(spec: str) -> Callable[..., Any]:
    """Import the module and return the function.

    The module of a file is registered in ``sys.modules`` under a name made from its path, so worker
    processes find it again; its folder joins the end of ``sys.path``, so it can import its neighbours. For
    a dotted module the current folder does.

    Raises:
        ConfigError: if the file or module is missing or fails to import, or has no such function.
    """
    place, _, name = spec.rpartition(":")
    if not place or not name:
        raise errors.ConfigError(
            f"reward {spec!r} names no function: write path/to/file.py:function or package.module:function"
        )
    is_file = place.endswith(".py") or "/" in place or os.sep in place
    module = _from_file(Path(place), spec) if is_file else _from_name(place, spec)
    found: Any = module
    for attribute in name.split("."):
        if not hasattr(found, attribute):
            raise errors.ConfigError(_no_function(spec, place, attribute, found))
        found = getattr(found, attribute)
    if isinstance(found, type) or not callable(found):
        raise errors.ConfigError(
            f"reward {spec!r}: {name} is a {'class' if isinstance(found, type) else type(found).__name__}, "
            "and a reward must be a function (or an instance with __call__)"
        )
    function: Callable[..., Any] = found
    return function


def functions_of(module: ModuleType) -> list[str]:
    """The public callables defined in a module, in order of definition."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value)
        and not name.startswith("_")
        and not isinstance(value, type)
        and getattr(value, "__module__", None) == module.__name__
    ]


def _from_file(path: Path, spec: str) -> ModuleType:
    if not path.is_file():
        folder = path.parent
        near = [p.name for p in folder.glob("*.py")] if folder.is_dir() else []
        raise errors.ConfigError(
            f"reward {spec!r}: no file {path}{errors.did_you_mean(path.name, near)} (searched from {Path.cwd()})"
        )
    path = path.resolve()
    digest = hashlib.sha256(str(path).encode()).hexdigest()[:8]
    name = f"winnow_reward_{path.stem}_{digest}"
    _reachable(str(path.parent))
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise errors.ConfigError(f"reward {spec!r}: {path} is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise errors.ConfigError(_failed_import(spec, str(path), error)) from error
    return module


def _from_name(name: str, spec: str) -> ModuleType:
    _reachable(os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise errors.ConfigError(_failed_import(spec, name, error)) from error
        raise errors.ConfigError(
            f"reward {spec!r}: no module named {error.name!r}; install it, put its folder on PYTHONPATH, "
            "or name the file as path/to/file.py:function"
        ) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise errors.ConfigError(_failed_import(spec, name, error)) from error


def _reachable(folder: str) -> None:
    # At the end, so that a file of the user's never shadows an installed module.
    if folder not in sys.path:
        sys.path.append(folder)


def _failed_import(spec: str, place: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"reward {spec!r}: {error.filename or place} line {error.lineno}: {error.msg}"
    line, traceback = None, error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == place:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    where = f" line {line}" if line is not None else ""
    return f"reward {spec!r}: importing {place}{where} raised {type(error).__name__}: {error}"


def _no_function(spec: str, place: str, name: str, owner: object) -> str:
    names = functions_of(owner) if isinstance(owner, ModuleType) else []
    has = f"it defines {', '.join(names)}" if names else "it defines no function"
    return f"reward {spec!r}: {place} has no function {name!r}{errors.did_you_mean(name, names)} ({has})"
