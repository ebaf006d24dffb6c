"""The splits of a folder: one that ``datasets`` saved, or data files named by split as on the Hugging Face Hub."""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow import errors
from winnow.task.read import SUFFIXES

TRAIN = "train"
_HELD_OUT = ("test", "validation")
_WORDS: Mapping[str, str] = {
    "train": TRAIN,
    "training": TRAIN,
    "test": "test",
    "testing": "test",
    "eval": "test",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
}
# What `datasets` and the Hub put beside the data.
_DESCRIPTIONS = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"}
_SHARD = re.compile(r"-(\d+)-of-(\d+)$")
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Split:
    """The files of one split.

    Attributes:
        name: for messages on rows: the file, or the folder and the split.
        path: for messages on the whole.
        files: its shards, in order.
        format: see `winnow.task.read.FORMATS`; None goes by the suffix.
    """

    name: str
    path: Path
    files: tuple[Path, ...]
    format: str | None = None


def choose(folder: Path, split: str | None = None, format: str | None = None) -> tuple[Split, Split | None]:
    """Find what to train on in a folder, and what to test on.

    Args:
        folder: a folder of ``Dataset.save_to_disk`` or ``DatasetDict.save_to_disk``, or one with data files
            whose names or folders tell the split (``data/train-00000-of-00002.parquet``, ``test.jsonl``).
        split: the split to train on; None is ``train``, or the only one there is.
        format: use only files of this format.

    Returns:
        The split to train on, and ``test`` or else ``validation`` unless that is the one trained on;
        None if there is neither.

    Raises:
        DataError: if the folder holds no data, or it is not clear which; the message lists what was found.
    """
    found = _saved(folder) or _by_name(folder, format)
    if split is None:
        split = TRAIN if TRAIN in found else next(iter(found)) if len(found) == 1 else None
    if split is None:
        raise errors.DataError(
            f"{folder}: holds the splits {', '.join(found)} and none called {TRAIN!r}; say which to train on with "
            "--set task_options.split=NAME"
        )
    if split not in found:
        raise errors.DataError(
            f"{folder}: has no split {split!r}{errors.did_you_mean(split, found)} (found: {', '.join(found)})"
        )
    held_out = next((found[name] for name in _HELD_OUT if name in found and name != split), None)
    return found[split], held_out


def _saved(folder: Path) -> dict[str, Split]:
    if (folder / "dataset_dict.json").is_file():
        names = _strings(folder / "dataset_dict.json", _json(folder / "dataset_dict.json").get("splits"))
        return {name: _saved_split(folder / name, f"{folder.name}/{name}") for name in names}
    if (folder / "state.json").is_file():
        name = _json(folder / "state.json").get("_split")
        return {name if isinstance(name, str) else TRAIN: _saved_split(folder, folder.name)}
    return {}


def _saved_split(folder: Path, name: str) -> Split:
    path = folder / "state.json"
    state = _json(path)
    if state.get("_indices_data_files"):
        raise errors.DataError(
            f"{folder}: its rows are in the order of a separate list of indices; save it again after flatten_indices()"
        )
    entries = state.get("_data_files")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise errors.DataError(f"{path}: names no data files, so the folder is damaged")
    files = _strings(path, [entry.get("filename") for entry in entries])
    return Split(name, folder, tuple(folder / file for file in files), "arrow")


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise errors.DataError(f"{path}: missing, so the folder is damaged; save the data set again") from None
    except (ValueError, RecursionError) as error:
        raise errors.DataError(f"{path}: broken JSON ({error}); save the data set again") from error
    if not isinstance(found, dict):
        raise errors.DataError(f"{path}: expected an object, so the folder is damaged")
    return found


def _strings(path: Path, names: Any) -> list[str]:
    """Check that names are plain ones: nothing outside the folder is read because a file in it says so."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise errors.DataError(f"{path}: expected a list of names, so the folder is damaged")
    for name in names:
        if name in ("", ".", "..") or "\0" in name or Path(name).name != name:
            raise errors.DataError(f"{path}: {name!r} is not the name of something in this folder")
    return names


def _by_name(folder: Path, format: str | None) -> dict[str, Split]:
    files = [path for path in _data_files(folder) if format is None or SUFFIXES[path.suffix.lower()] == format]
    if not files:
        allowed = ", ".join(dict.fromkeys(SUFFIXES))
        raise errors.DataError(f"{folder}: holds no data files ({allowed}), and no folder that datasets saved")
    # By subset of the data set, then by split.
    subsets: dict[str, dict[str, list[Path]]] = defaultdict(lambda: defaultdict(list))
    for path in files:
        inside = path.relative_to(folder).parent.parts
        words = {name for part in (path.stem, *inside) if (name := _split_of(part))}
        if words:
            subset = "/".join(part for part in inside if not _split_of(part) and part != "data")
            subsets[subset][sorted(words)[0]].append(path)
    if not subsets and len(files) == 1:
        return {TRAIN: Split(files[0].name, files[0], (files[0],), format)}
    if len(subsets) != 1:
        raise errors.DataError(_which(folder, files, subsets))
    [splits] = subsets.values()
    order = sorted(splits, key=lambda name: (name != TRAIN, name))
    return {name: _shards(folder, name, splits[name]) for name in order}


def _data_files(folder: Path) -> list[Path]:
    found: list[Path] = []
    for inside, folders, names in os.walk(folder):
        depth = len(Path(inside).relative_to(folder).parts)
        # Changed in place, so that os.walk does not enter the others.
        folders[:] = [name for name in folders if depth < _DEEPEST and not name.startswith((".", "_"))]
        found += [
            Path(inside) / name
            for name in names
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith((".", "_")) and name not in _DESCRIPTIONS
        ]
    return sorted((path for path in found if path.is_file()), key=_natural)


def _split_of(name: str) -> str:
    words = re.split(r"[^a-z]+", name.lower())
    return next((_WORDS[word] for word in words if word in _WORDS), "")


def _shards(folder: Path, split: str, paths: Sequence[Path]) -> Split:
    name = f"{folder}, split {split}"
    suffixes = {path.suffix.lower() for path in paths}
    if len({SUFFIXES[suffix] for suffix in suffixes}) > 1:
        raise errors.DataError(f"{name}: files of several formats ({', '.join(sorted(suffixes))}); choose by --format")
    totals = {int(match[2]) for path in paths if (match := _SHARD.search(path.stem))}
    if totals and totals != {len(paths)}:
        raise errors.DataError(
            f"{name}: {len(paths)} files where their names speak of {' and '.join(map(str, sorted(totals)))}: "
            f"{', '.join(path.name for path in paths[:5])}; complete the download, or name one file"
        )
    if len(paths) == 1:
        return Split(paths[0].name, paths[0], tuple(paths))
    return Split(f"{folder.name}/{split}", folder, tuple(paths))


def _which(folder: Path, files: Sequence[Path], subsets: Mapping[str, object]) -> str:
    if subsets:
        names = ", ".join(str(folder / name) for name in subsets)
        return f"{folder}: holds several data sets; name one of the folders {names}"
    names = ", ".join(str(path.relative_to(folder)) for path in files[:5])
    more = f" and {len(files) - 5} more" if len(files) > 5 else ""
    return (
        f"{folder}: holds {len(files)} data files, and no name tells which is for training (train, test, "
        f"validation); name one of {names}{more}"
    )


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key that puts ``part-2`` before ``part-10``."""
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]
