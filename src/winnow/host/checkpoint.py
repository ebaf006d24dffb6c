"""What winnow adds to a checkpoint of another trainer: the state of the recipe and the account of the run, in one file.

``winnow.json`` is written whole or not at all, and read back only by the run that wrote it: same recipe, budget, seed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winnow.budget import Budget
from winnow.errors import ResumeError
from winnow.recipe import Recipe

FILE = "winnow.json"


def identity(recipe: Recipe, budget: Budget | None, seed: int) -> dict[str, Any]:
    """Return what has to be the same for a run to be the same run; plain values, as JSON gives them back."""
    settings = {"recipe": recipe.describe(), "budget": asdict(budget) if budget else None, "seed": seed}
    plain: dict[str, Any] = json.loads(json.dumps(settings))
    return plain


def save(folder: Path, content: Mapping[str, Any]) -> None:
    """Write the file, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{FILE}.part"
    unfinished.write_text(json.dumps(content))
    os.replace(unfinished, folder / FILE)


def load(folder: Path, expected: Mapping[str, Any]) -> dict[str, Any] | None:
    """Read the file of a checkpoint; None where the trainer saved the checkpoint without winnow.

    Raises:
        ResumeError: the checkpoint belongs to another recipe, budget or seed; the message shows the difference.
    """
    path = folder / FILE
    if not path.exists():
        return None
    content: dict[str, Any] = json.loads(path.read_text())
    differences = list(_differences("", content["identity"], expected))
    if differences:
        raise ResumeError(
            f"{path} belongs to another run: {'; '.join(differences)}. Give the trainer the settings of the "
            "checkpoint, or remove the file to start the recipe anew on its weights"
        )
    return content


def _differences(place: str, saved: Any, found: Any) -> list[str]:
    if isinstance(saved, dict) and isinstance(found, dict):
        names = sorted(saved.keys() | found.keys())
        return [line for name in names for line in _differences(f"{place}.{name}", saved.get(name), found.get(name))]
    return [] if saved == found else [f"{place.lstrip('.')} was {saved!r}, now {found!r}"]
