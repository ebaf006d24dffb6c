"""Log files, folders of runs, of TRL and of verl, read into columns: one record at a time in memory."""

from __future__ import annotations

import json
import re
import tomllib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from winnow.errors import DataError, MissingExtra
from winnow.replay.columns import Names, number, recognise
from winnow.replay.log import Log
from winnow.replay.outcomes import Outcomes
from winnow.report.run import rollout_files

Record = Mapping[str, Any]
FURTHER = ("answers", "scores", "embeddings", "entropy", "truncated")


def read_log(
    paths: Sequence[Path], *, columns: Mapping[str, str] | None = None, needs: Iterable[str] = (), texts: bool = False
) -> Log:
    """Read rollouts.

    Args:
        paths: JSONL or Parquet files, or folders: of a run or pilot, of TRL (``completions/*.parquet``), of verl
            (``*.jsonl``).
        columns: which column holds what, where the names do not tell; see `winnow.replay.columns.NAMES`.
        needs: columns that recipes ask for (`winnow.columns`); those that the log can give are kept.
        texts: keep the texts of the prompts, for recipes that compare them.

    Raises:
        DataError: a file is missing or damaged, or holds no rollouts.
        ConfigError: ``columns`` names what is not there.
        MissingExtra: a Parquet file, and pyarrow is not installed.
    """
    files = [file for path in paths for file in _files(path)]
    builder = _Builder(columns or {}, tuple(needs), texts)
    for file in dict.fromkeys(files):
        for place, record in records(file, builder.notes):
            builder.add(place, record)
        builder.layout_of_next_file()
    return builder.log(_partial(paths))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: no such file or folder")
    inside = rollout_files(path)
    for pattern in ("completions/*.parquet", "*.parquet", "*.jsonl"):
        inside = inside or sorted(path.glob(pattern), key=_by_number)
    if not inside:
        raise DataError(
            f"{path} holds no log: neither rollouts.jsonl (a run writes it unless log_rollouts is none) nor "
            "completions/*.parquet (TRL) nor *.jsonl (verl)"
        )
    return inside


def _by_number(path: Path) -> tuple[int, str]:
    digits = re.findall(r"\d+", path.stem)
    return (int(digits[-1]) if digits else -1), path.name


def _partial(paths: Sequence[Path]) -> tuple[str, ...]:
    """Say which runs logged only the rollouts they trained on: what is missing there was not left out at random."""
    found = []
    for path in paths:
        config = (path if path.is_dir() else path.parent) / "config.toml"
        if config.is_file():
            with config.open("rb") as file:
                settings = tomllib.load(file)
            if settings.get("log_rollouts") == "trained":
                found.append(
                    f"{path} logged only rollouts that trained (log_rollouts=trained): groups without signal are "
                    "missing, so every share below is too good; log all of them"
                )
    return tuple(found)


def records(path: Path, notes: list[str]) -> Iterator[tuple[str, Record]]:
    """Yield the records of a JSONL or Parquet file, each with its place; a last line cut short goes to ``notes``.

    Raises:
        DataError: a line is damaged.
        MissingExtra: a Parquet file, and pyarrow is not installed.
    """
    if path.suffix == ".parquet":
        yield from _parquet(path)
        return
    with path.open("rb") as file:
        for count, line in enumerate(file, start=1):
            if not line.strip():
                continue
            place = f"{path} line {count}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    notes.append(f"{place}: cut short, and passed over")
                    return
                raise DataError(f"{place} is not JSON ({error}); remove it, or name another file") from None
            if not isinstance(record, dict):
                raise DataError(f"{place}: expected an object, found {str(record)[:40]!r}")
            yield place, record


def _parquet(path: Path) -> Iterator[tuple[str, Record]]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError as error:
        raise MissingExtra(f"{path}: Parquet needs pyarrow; install winnow-rl[parquet]") from error
    try:
        row = 0
        for batch in parquet.ParquetFile(path).iter_batches():
            for record in batch.to_pylist():
                row += 1
                yield f"{path} row {row}", record
    except ArrowInvalid as error:
        raise DataError(f"{path} is no Parquet file: {error}") from None


class _Builder:
    """Columns that grow record by record; texts are only counted and hashed."""

    def __init__(self, given: Mapping[str, str], needs: tuple[str, ...], texts: bool) -> None:
        self.notes: list[str] = []
        self._given, self._needs = given, needs
        self._names: Names | None = None
        self._fixed: Names | None = None
        self._prompts: dict[str, int] = {}
        self._texts: list[str] | None = [] if texts else None
        self._owner, self._tokens, self._step = array("q"), array("q"), array("q")
        self._reward, self._outcome = array("d"), array("d")
        self._further: dict[str, list[Any]] = {name: [] for name in needs if name in FURTHER}
        self._blocks: dict[int, int] = {}
        self._outcomes = Outcomes()

    def layout_of_next_file(self) -> None:
        """Look at the columns anew: files of one log may be of different kinds."""
        self._names = None

    def add(self, place: str, record: Record) -> None:
        if self._names is None:
            self._names = self._fixed = recognise(record, self._given, record)
            self._further = {name: values for name, values in self._further.items() if self._can(name)}
        names = self._names
        try:
            key = names.prompt(record)
            step = names.step(record)
            self._tokens.append(names.length(record))
            self._reward.append(names.reward(record))
            self._outcome.append(names.outcome(record))
            self._outcomes.add(names, record)
            further = {name: self._value(name, record) for name in self._further}
        except DataError as error:
            raise DataError(f"{place}: {error}") from None
        except ValueError as error:
            raise DataError(f"{place}: {error}; this is no rollout, or the columns are called otherwise") from None
        fresh = len(self._prompts)
        self._owner.append(self._prompts.setdefault(key, fresh))
        self._step.append(step)
        for name, value in further.items():
            self._further[name].append(value)
        if self._texts is not None and len(self._prompts) > fresh:
            self._texts.append(str(record.get(names.of.get("prompt", ""), "")))
        if names.layout == "TRL":
            # Order does not matter in a sum, and equal rollouts of one step still count twice.
            digest = hash((key, str(record.get(names.of["text"])), repr(self._reward[-1])))
            self._blocks[step] = (self._blocks.get(step, 0) + digest) & (2**63 - 1)

    def _can(self, name: str) -> bool:
        assert self._names is not None
        source = {"answers": "text", "scores": "parts", "truncated": "finish"}.get(name, name)
        return source in self._names.of

    def _value(self, name: str, record: Record) -> Any:
        assert self._names is not None
        of = self._names.of
        if name == "answers":
            from winnow.reward.answers import normal_form

            return normal_form(str(record.get(of["text"]) or ""))
        if name == "scores":
            return number(record.get(of["parts"]) or {}, "score")
        if name == "truncated":
            return float(record.get(of["finish"]) == "length")
        return record.get(name) if name == "embeddings" else number(record, of[name])

    def log(self, notes: tuple[str, ...]) -> Log:
        if self._fixed is None:
            raise DataError("the log holds no rollouts")
        names = self._fixed
        keep = self._without_repeats()
        outcome = np.frombuffer(self._outcome, np.float64)
        columns = {
            name: np.array(values, object if name == "answers" else np.float64)
            for name, values in self._further.items()
        }
        if len(names.rewards) > 1:
            verdict, note = self._outcomes.settle(names, np.frombuffer(self._reward, np.float64))
            outcome = outcome if verdict is None else verdict
            self.notes.append(note)
        if names.unit == "characters":
            self.notes.append("lengths are characters: the log holds no tokens; --column tokens=NAME names them")
        return Log.of(
            np.frombuffer(self._owner, np.int64)[keep],
            np.frombuffer(self._reward, np.float64)[keep],
            np.frombuffer(self._tokens, np.int64)[keep] if names.unit else None,
            None if np.isnan(outcome).all() else outcome[keep],
            np.frombuffer(self._step, np.int64)[keep] if "step" in names.of else None,
            unit=names.unit,
            columns={name: column[keep] for name, column in columns.items()},
            texts=self._texts if "prompt" in names.of else None,
            notes=(*notes, *self.notes),
        )

    def _without_repeats(self) -> Any:
        """Return which rollouts to keep: TRL logs a batch again in every step that trains on it."""
        seen: dict[int, int] = {}
        for step, digest in sorted(self._blocks.items()):
            seen.setdefault(digest, step)
        again = sorted(self._blocks.keys() - set(seen.values()))
        if not again:
            return slice(None)
        self.notes.append(f"{len(again)} steps hold the rollouts of an earlier one again, and were passed over")
        return ~np.isin(np.frombuffer(self._step, np.int64), again)
