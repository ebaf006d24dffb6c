"""How to start a fresh interpreter that finds what this one finds."""

from __future__ import annotations

import json
import os
import sys

# -c and not -m, and with -P: the user's main module is not run, and the current folder shadows no module.
_PROGRAM = (
    "import sys, json; _, module, function, path, *arguments = sys.argv; sys.path[:] = json.loads(path); "
    "import importlib; getattr(importlib.import_module(module), function)(*json.loads(arguments[0]))"
)

# Workers are many and each judges one item at a time; threads of theirs would only fight over the cores.
_SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def command(module: str, function: str, *arguments: int | str) -> list[str]:
    """The command line that calls ``function(*arguments)`` of a module of this package."""
    path = [os.path.abspath(entry) for entry in sys.path]
    optimize = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
    name = f"{__package__}.{module}"
    return [sys.executable, "-P", *optimize, "-c", _PROGRAM, name, function, json.dumps(path), json.dumps(arguments)]


def environment() -> dict[str, str]:
    """The environment of the processes of a pool: ours, made single-threaded and with a fixed order of sets.

    Text hashes differently in every interpreter unless PYTHONHASHSEED says otherwise, and a reward that walks over a
    set would give other verdicts in other workers.
    """
    return {**dict.fromkeys(_SINGLE, "1"), "PYTHONHASHSEED": "0", **os.environ}
