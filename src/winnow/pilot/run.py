"""A pilot from its settings to its measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from winnow.errors import ConfigError, RewardError
from winnow.pilot.draw import draw, order
from winnow.pilot.folder import PilotFolder, pilot_folder, tally
from winnow.pilot.tally import Tally
from winnow.rollout import Prompt

if TYPE_CHECKING:
    from winnow.task import Task
    from winnow.train import TrainConfig
    from winnow.train.encoding import Split
    from winnow.train.prepare import Setup

MOST = 1000
"""Prompts of a pilot for which no number is asked."""
DECIDING = (
    *("task", "task_seed", "task_options", "chat", "chat_template", "system"),
    *("temperature", "max_new_tokens", "max_prompt_tokens", "seed", "reward_timeout", "reward_on_timeout"),
)
"""Settings that decide what a pilot draws and how it is judged; a pilot goes on only when none of them differs."""


@dataclass(frozen=True)
class Pilot:
    """What was measured.

    Attributes:
        task, model, reward: what was measured, by name.
        k: rollouts per prompt.
        available: prompts the task has to train on.
        asked: prompts of this pilot; more than are measured when it was interrupted.
        prompts: (P,) the prompts measured, in the order of the data.
        tallies: (P,) what was seen of each.
        drawn: rollouts drawn by this call, not taken from the log of an earlier one.
        seconds: time of this call for drawing and scoring those.
        n: rollouts per prompt that the recipe plans.
        max_new_tokens: where completions were cut.
        notes: what setting up the task had to say.
        folder: where the log is, None without one.
    """

    task: str
    model: str
    reward: str
    k: int
    available: int
    asked: int
    prompts: Sequence[Prompt]
    tallies: Sequence[Tally]
    drawn: int
    seconds: float
    n: int
    max_new_tokens: int
    notes: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def complete(self) -> bool:
        """Whether every prompt asked for was measured."""
        return len(self.tallies) == self.asked


def pilot(
    config: TrainConfig,
    *,
    k: int = 8,
    prompts: int | None = None,
    out: Path | None = None,
    log: bool = True,
    on_start: Callable[[Setup, Path | None], None] = lambda setup, folder: None,
    on_progress: Callable[[int, int], None] = lambda done, asked: None,
    stopped: Callable[[], bool] = lambda: False,
    task: Task | None = None,
    policy: tuple[Any, Any] | None = None,
) -> Pilot:
    """Draw k rollouts of prompts with the policy as it is, score them, and count.

    Prompts are taken at random by the seed, so they stand for all. Every prompt that is complete goes to
    ``rollouts.jsonl`` in ``out`` at once; a pilot whose folder holds prompts of the same settings already goes on from
    there, also to a larger number of prompts.

    Args:
        config: the settings of the run the pilot is for.
        k: rollouts per prompt, at least 2.
        prompts: how many prompts; None: all, up to `MOST`.
        out: the folder; None: the first free one under ``runs/``.
        log: False writes nothing.
        on_start: called once with what was loaded and the folder.
        on_progress: called with the prompts done and asked.
        stopped: asked between decoding steps; what is complete is kept.
        task: a task made in Python, instead of ``config.task``.
        policy: a model and its tokenizer, instead of ``config.model``.

    Raises:
        ConfigError, DataError, MissingExtra: found before the first rollout.
        ResumeError: ``out`` holds a pilot of other settings.
        RewardError: the reward failed, or not one rollout could be scored.
    """
    if k < 2:
        raise ConfigError(f"k={k}: a pilot needs at least two rollouts of a prompt, or nothing can differ")
    if prompts is not None and prompts < 1:
        raise ConfigError(f"prompts={prompts}: a pilot needs at least one prompt")
    from winnow.train.prepare import prepare

    with ExitStack() as stack:
        path = stack.enter_context(pilot_folder(out, _name(config))) if log else None
        setup = prepare(config, task=task, policy=policy)
        # A reward may have workers, which have to end with the pilot.
        stack.callback(getattr(setup.task.reward, "close", lambda: None))
        available = len(setup.train)
        rows = order(config, available)[: min(prompts or MOST, available)]
        chosen = setup.train.pick(rows)
        folder = PilotFolder(path, identity(config, setup, k), k) if path is not None else None
        if folder is not None:
            stack.callback(folder.close)
        on_start(setup, path)
        known = dict(folder.tallies) if folder is not None else {}
        started, before = perf_counter(), len(known)
        for done in _fill(config, setup, chosen, k, folder, known, stopped):
            on_progress(done, len(rows))
        seconds = perf_counter() - started
    found = [setup.train.prompts[row] for row in sorted(rows) if setup.train.prompts[row].id in known]
    tallies = [known[prompt.id] for prompt in found]
    if tallies and not any(tally.scorable for tally in tallies):
        reason = next((text for tally in tallies for text in tally.reasons), "no reason given")
        raise RewardError(f"reward {setup.task.reward.name!r} could not score one rollout of the pilot: {reason}")
    return Pilot(
        task=setup.task.name,
        model=setup.model_name,
        reward=setup.task.reward.name,
        k=k,
        available=available,
        asked=len(rows),
        prompts=found,
        tallies=tallies,
        drawn=k * (len(known) - before),
        seconds=seconds,
        n=setup.recipe.allocation.n,
        max_new_tokens=config.max_new_tokens,
        notes=setup.notes,
        folder=path,
    )


def identity(config: TrainConfig, setup: Setup, k: int) -> dict[str, Any]:
    """Return what has to be equal for a pilot to be continued, as plain values."""
    from winnow.train.weights import fingerprint

    settings: Mapping[str, Any] = config.model_dump(mode="json", include=set(DECIDING))
    return {**settings, "k": k, "data": setup.task.fingerprint, "policy": fingerprint(setup.model)}


def _fill(
    config: TrainConfig,
    setup: Setup,
    chosen: Split,
    k: int,
    folder: PilotFolder | None,
    known: dict[str, Tally],
    stopped: Callable[[], bool],
) -> Iterator[int]:
    """Measure what is not yet ``known``, and yield how many prompts are, each time some are added."""
    wanted = [position for position, prompt in enumerate(chosen.prompts) if prompt.id not in known]
    done = len(chosen) - len(wanted)
    yield done
    for groups in draw(config, setup, chosen, k, wanted, stopped) if wanted else ():
        if folder is not None:
            folder.append(groups)
        for group in groups:
            known[group.prompt.id] = seen = Tally(group.prompt.id)
            for record in group.records():
                tally(seen, record)
        done += len(groups)
        yield done


def _name(config: TrainConfig) -> str:
    task = Path(config.task).stem if "." in config.task else config.task.replace(":", "-")
    return f"pilot-{task}-seed{config.seed}"
