"""Everything there is to know about a data file before anything is trained on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from winnow import errors
from winnow.reward import Reward
from winnow.reward import load as load_reward
from winnow.rollout import Prompt
from winnow.task import folder, repeats
from winnow.task.default_reward import default_reward
from winnow.task.folder import Split
from winnow.task.marks import unmarked
from winnow.task.options import FileOptions
from winnow.task.part import Part, check_golds, read_part, settle
from winnow.task.problems import FILE, UNMARKED, Problem
from winnow.task.record import Task, fingerprint
from winnow.task.rows import Rows
from winnow.task.split import content_key, held_out


@dataclass(slots=True)
class Survey:
    """What was found in the data.

    Attributes:
        path: the file or folder.
        parts: the split to train on, and the one to test on if it has files of its own.
        reward: the reward, None if the data is too broken to choose one.
        train: the prompts to train on.
        test: the prompts held out.
        notes: how the data was read.
        warnings: what is wrong with it and does not stop a run.
    """

    path: Path
    parts: list[Part]
    reward: Reward | None
    train: list[Prompt]
    test: list[Prompt]
    notes: list[str]
    warnings: list[str]

    @property
    def failure(self) -> errors.WinnowError | None:
        """What stops a run, the first if there is more; None if nothing does."""
        return next((part.failure for part in self.parts if part.failure is not None), None)

    @property
    def problems(self) -> list[tuple[Part, Problem]]:
        """All problems with the part they are in, those of the whole file before those of rows."""
        found = [(part, problem) for part in self.parts for problem in part.problems]
        return sorted(found, key=lambda pair: (pair[0].split != "train", pair[1].number))

    def task(self) -> Task:
        """Make the task.

        Raises:
            WinnowError: see `failure`.
        """
        if self.failure is not None:
            raise self.failure
        assert self.reward is not None
        notes = [*self.notes, *self.warnings, f"{len(self.train)} prompts to train on, {len(self.test)} held out"]
        return Task(
            str(self.path), self.train, self.test, self.reward, fingerprint(self.train, self.test), tuple(notes)
        )


def survey(path: Path, options: FileOptions) -> Survey:
    """Read a data file or folder and check every row of it.

    What is wrong with the data is in the survey and not raised, so that all of it can be shown at once.

    Args:
        path: the file or folder.
        options: how to read it.

    Raises:
        ConfigError: if the reward or its options are unknown, or a setting contradicts the folder.
        MissingExtra: if the reward needs a package that is not installed.
    """
    judge = load_reward(options.reward, **options.reward_options) if options.reward else None
    try:
        files, test_files = _files(path, options)
    except errors.DataError as error:
        return _unreadable(path, error, judge)
    parts = [read_part(files, "train", options, judge, options.limit)]
    chosen = ""
    if judge is None and parts[0].prompts:
        judge, chosen = default_reward(parts[0].prompts, options.reward_options)
    if test_files is not None:
        parts.append(read_part(test_files, "test", options, judge, options.test_limit))
    for part in parts:
        if judge is not None:
            check_golds(part, judge)
        settle(part, options.drop_bad_rows)
        _repeats(part)
    if judge is not None:
        _unmarked(parts[0], judge)
    notes = [note for part in parts for note in part.notes]
    notes += [chosen] if chosen else []
    notes += getattr(judge, "notes", ())
    warnings = [warning for part in parts for warning in part.warnings]
    if len(parts) == 2:
        warnings += _overlap(*parts)
    return Survey(path, parts, judge, *_split(parts, options), notes, warnings)


def _files(path: Path, options: FileOptions) -> tuple[Split, Split | None]:
    train, test = _one(path, options), None
    if path.is_dir():
        train, test = folder.choose(path, options.split, options.format)
    elif options.split is not None:
        raise errors.ConfigError(f"split={options.split!r} chooses among the splits of a folder, and {path} is a file")
    if options.test_path is not None:
        other = Path(options.test_path).expanduser()
        test = _one(other, options)
        if other.is_dir():
            only, held = folder.choose(other, None, options.format)
            test = held or only
    return train, test


def _one(path: Path, options: FileOptions) -> Split:
    return Split(path.name, path, (path,), options.format)


def _unreadable(path: Path, error: errors.WinnowError, judge: Reward | None) -> Survey:
    files = Split(path.name, path, ())
    part = Part(files, "train", Rows(path.name, "row"))
    part.fail(FILE, error)
    return Survey(path, [part], judge, [], [], [], [])


def _repeats(part: Part) -> None:
    found = repeats.repeats(part.prompts, part.rows.where, part.gold_column)
    part.problems += found
    part.warnings += repeats.summary(found, part.rows.source, part.rows.where)


def _unmarked(part: Part, judge: Reward) -> None:
    reason = unmarked(judge, part.prompts)
    if reason:
        part.problems.append(Problem(0, reason, UNMARKED, part.prompt_column))
        part.warnings.append(f"{part.rows.source}: {reason}")


def _overlap(train: Part, test: Part) -> list[str]:
    found = repeats.overlap(train.prompts, test.prompts, test.rows.where, train.prompt_column)
    train.problems += found
    return repeats.summary(found, train.rows.source, train.rows.where, test.rows.source)


def _split(parts: list[Part], options: FileOptions) -> tuple[list[Prompt], list[Prompt]]:
    if len(parts) == 2:
        return parts[0].prompts, parts[1].prompts
    prompts = parts[0].prompts
    out = held_out([content_key(p.content) for p in prompts], options.test_fraction, options.test_limit)
    test = [_as_test(prompt) for prompt, is_out in zip(prompts, out, strict=True) if is_out]
    return [prompt for prompt, is_out in zip(prompts, out, strict=True) if not is_out], test


def _as_test(prompt: Prompt) -> Prompt:
    return replace(prompt, id=f"test:{prompt.id.partition(':')[2]}")
