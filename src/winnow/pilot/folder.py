"""The folder of a pilot: what was measured, by which settings, and how to go on."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winnow.errors import ConfigError, DataError, ResumeError
from winnow.pilot.draw import Group
from winnow.pilot.tally import Tally
from winnow.train.disk import writing
from winnow.train.lock import locked
from winnow.train.logs import Lines, write_json

FACTS, LOG = "pilot.json", "rollouts.jsonl"


@contextmanager
def pilot_folder(path: Path | None, name: str) -> Iterator[Path]:
    """Hold the folder of a pilot; None takes the first free one called ``runs/NAME``.

    Raises:
        ConfigError: it is the current folder, holds something else, cannot be made, or is in use.
    """
    if path is None:
        path = _free(name)
    elif path == Path():
        raise ConfigError(f"out={path} is the current folder: a pilot needs a folder of its own, name one")
    with locked(path):
        if (path / LOG).exists() and not (path / FACTS).exists():
            raise ConfigError(f"out={path} holds the rollouts of something else than a pilot; choose another folder")
        yield path


def _free(name: str) -> Path:
    for number in itertools.count(1):
        path = Path("runs") / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise ConfigError(f"{path} cannot be made ({error.strerror}): set --out to another folder") from error
    return path


class PilotFolder:
    """A pilot on disk: ``rollouts.jsonl`` holds whole prompts, ``pilot.json`` the settings and, in the end, the result.

    Args:
        path: the folder.
        identity: settings that decide what is drawn; a folder that was begun with others is refused.
        k: rollouts per prompt.

    Raises:
        ResumeError: the folder belongs to other settings; the message lists every difference.
        DataError: its log was changed.

    Attributes:
        tallies: the prompts measured before, by id.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], k: int) -> None:
        self.path = path
        self._identity = dict(identity)
        facts, log = path / FACTS, path / LOG
        self.tallies: dict[str, Tally] = {}
        if facts.exists():
            _check(facts, self._identity)
            if log.exists():
                self.tallies, end = read_log(log, k)
                with writing(log):
                    os.truncate(log, end)
        else:
            write_json(facts, {"settings": self._identity})
        self._lines = Lines(log)

    def append(self, groups: Iterable[Group]) -> None:
        """Write prompts that are complete; a killed process loses at most the last of them.

        Raises:
            DiskStop: the disk is full or cannot be written.
        """
        for group in groups:
            self._lines.write(group.records())

    def close(self) -> None:
        """Close the log."""
        self._lines.close()


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Put the result of a pilot beside its settings in ``pilot.json``.

    Raises:
        DiskStop: the disk is full or cannot be written.
    """
    saved = json.loads((path / FACTS).read_text(encoding="utf-8"))
    write_json(path / FACTS, {**saved, "result": dict(result)})


def read_log(path: Path, k: int) -> tuple[dict[str, Tally], int]:
    """Read the whole prompts of a log, and where they end: what a killed process left behind is not among them.

    Raises:
        DataError: a line in the middle is damaged, or a prompt has other than k rollouts.
    """
    tallies: dict[str, Tally] = {}
    current: Tally | None = None
    place = end = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                break
            place += len(line)
            try:
                record = json.loads(line)
                name = str(record["prompt_id"])
                current = current or Tally(name)
                if name != current.prompt_id or name in tallies:
                    raise ValueError(f"prompt {name} where {current.prompt_id} has {current.drawn} of {k} rollouts")
                tally(current, record)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DataError(f"{path} line {number}: {error}; this log was changed: start a new pilot") from None
            if current.drawn == k:
                tallies[name], current, end = current, None, place
    return tallies, end


def tally(into: Tally, record: Mapping[str, Any]) -> None:
    """Count a line of the log; a rollout without a reward is unscorable, whatever its outcome."""
    reward, outcome = record.get("reward"), record.get("outcome")
    into.add(
        reward if reward is None or outcome is None else outcome,
        tokens=len(record["ids"]),
        truncated=record["finish"] == "length",
        reason=record.get("reason") or "",
    )


def _check(path: Path, now: Mapping[str, Any]) -> None:
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))["settings"]
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path} is damaged: start a new pilot in another folder") from None
    # What was saved went through JSON, which knows no tuples.
    now = json.loads(json.dumps(now))
    lines = [
        f"  {name}: saved {saved.get(name)!r}, now {now.get(name)!r}"
        for name in sorted(saved.keys() | now.keys())
        if saved.get(name) != now.get(name)
    ]
    if lines:
        raise ResumeError(
            f"{path.parent} holds a pilot with other settings:\n"
            + "\n".join(lines)
            + "\nUse those settings to go on with it, or start a new pilot with another --out"
        )
