"""The run from the first check to the summary: fresh or resumed, finished, interrupted or stopped."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from winnow.errors import ResumeError, SafetyStop, WinnowError
from winnow.reward import Pool
from winnow.task import Task
from winnow.train.checkpoint import read_state
from winnow.train.collect import Interrupted
from winnow.train.config import TrainConfig
from winnow.train.disk import DiskStop
from winnow.train.folder import START, RunFolder, new_folder, old_folder
from winnow.train.loop import STATE, Loop
from winnow.train.prepare import Setup, prepare
from winnow.train.progress import Progress, Start, make
from winnow.train.signals import Interrupts
from winnow.train.summary import EXIT_DONE, EXIT_INTERRUPTED, Summary, summarise
from winnow.train.trackers import Tracker, open_trackers


class Trainer:
    """Trains one policy with one recipe.

    Args:
        config: the settings.
        provenance: where each setting came from, for ``config.toml``.
        progress: what a person sees; None: a live table on a terminal, plain lines elsewhere.
        task: a task made in Python, instead of ``config.task``.
        policy: a model and its tokenizer, instead of ``config.model``; the model is changed in place.
    """

    def __init__(
        self,
        config: TrainConfig,
        provenance: Mapping[str, str] | None = None,
        progress: Progress | None = None,
        *,
        task: Task | None = None,
        policy: tuple[Any, Any] | None = None,
    ) -> None:
        self.config = config
        self.interrupts = Interrupts()
        self._provenance = provenance or dict.fromkeys(config.model_fields_set, "flag")
        self._progress: Progress = progress or make()
        self._task, self._policy = task, policy

    def run(self, resume: bool = False, allow_change: Collection[str] = ()) -> Summary:
        """Train until a limit is reached.

        SIGINT or SIGTERM ends the run after the step in progress, or drops that step while it is still being
        sampled, and saves a checkpoint; the run continued from there equals one that was never interrupted.

        Args:
            resume: continue from the newest whole checkpoint in ``config.out``; from the start when there is none.
            allow_change: names of settings (or ``data``, ``policy``) that may differ from the checkpoint's.

        Returns:
            The summary, also in ``summary.json``: recipe, task, model, seed; steps, rollouts, rows, tokens,
            trained_tokens; accuracy_first, accuracy_final; seconds (training) and seconds_wall (of this call);
            weights_sha256, no_signal_mean, skipped_steps, stopped, exit_code (0, or 130 when interrupted), ledger,
            versions, peak_memory_mb, out.

        Raises:
            ConfigError, DataError, MissingExtra: found before the first step.
            ResumeError: the checkpoint belongs to another run.
            SafetyStop: a limit that protects the run was reached; a checkpoint and the summary are written.
        """
        started = perf_counter()
        with ExitStack() as stack:
            path = stack.enter_context(old_folder(self.config) if resume else new_folder(self.config))
            stack.enter_context(self.interrupts)
            setup = prepare(self.config, task=self._task, policy=self._policy)
            if isinstance(setup.task.reward, Pool):
                stack.callback(setup.task.reward.close)
            folder = RunFolder(path, self.config)
            stack.callback(folder.close)
            loop = Loop(self.config, setup, folder, self._progress.note)
            if resume:
                self._restore(loop, allow_change)
            folder.begin(self.config, self._provenance)
            trackers = open_trackers(self.config.trackers, path, self.config.model_dump(mode="json"))
            for tracker in trackers:
                stack.callback(tracker.close)
            failure: WinnowError | None = None
            stopped = ""
            self._announce(setup, path)
            try:
                stopped = self._steps(loop, trackers)
                loop.save()
            except WinnowError as error:
                failure, stopped = error, str(error)
            code = failure.exit_code if failure else EXIT_INTERRUPTED if self.interrupts() else EXIT_DONE
            summary = summarise(loop, stopped=stopped, exit_code=code, wall=perf_counter() - started)
            if failure is not None:
                self._keep_after_failure(loop, failure, summary)
            else:
                loop.write_ledger()
                # An interrupted run is not finished: without a summary, others see that it can be resumed.
                if code != EXIT_INTERRUPTED:
                    folder.write_summary(summary)
            self._progress.end(summary)
        if failure is not None:
            raise failure
        if code == EXIT_INTERRUPTED:
            self._progress.note(f"{stopped}; to go on: winnow train --out {shlex.quote(str(path))} --resume")
        return summary

    def _restore(self, loop: Loop, allow_change: Collection[str]) -> None:
        checkpoints = loop.folder.checkpoints
        checkpoint = checkpoints.newest()
        if checkpoint is None:
            loop.folder.cut(START)
            self._progress.note(f"{loop.folder.path} has no checkpoint yet: the run starts from its beginning")
            return
        try:
            state = read_state(checkpoint, STATE)
        except ResumeError as error:
            raise checkpoints.damaged(checkpoint, error) from error
        changed = loop.identity.check(state["identity"], str(checkpoint), allow_change)
        try:
            loop.restore(checkpoint, state, changed)
        except ResumeError as error:
            raise checkpoints.damaged(checkpoint, error) from error
        self._progress.note(f"resuming after step {loop.totals.steps} from {checkpoint}")

    def _announce(self, setup: Setup, path: Path) -> None:
        limits = " or ".join(f"{value:g} {name}" for name, value in setup.limits.limits.items())
        title = f"{setup.recipe.name} on {setup.task.name} ({len(setup.train)} prompts) with {setup.model_name}"
        self._progress.start(Start(title, str(path), limits))
        for text in setup.notes:
            self._progress.note(text)

    def _steps(self, loop: Loop, trackers: Sequence[Tracker]) -> str:
        """Run until something ends the run; return what did."""
        limits, every, save_every = loop.setup.limits, self.config.eval_every, self.config.checkpoint_every
        if loop.totals.steps == 0 and not loop.accuracy and not self.interrupts():
            # Nothing is lost when this one is cut short; later ones belong to a step that would be drawn again.
            with suppress(Interrupted):
                if first := loop.evaluate(self.interrupts):
                    self._show(loop, {"step": 0, **first}, trackers)
        while not self.interrupts():
            if reached := limits.reached(loop.totals):
                return reached
            try:
                record = loop.step(self.interrupts)
            except Interrupted:
                break
            last = limits.reached(loop.totals) is not None
            if last or (every and record["step"] % every == 0):
                record.update(loop.evaluate())
            self._show(loop, record, trackers)
            loop.check()
            if save_every and record["step"] % save_every == 0:
                loop.save()
        return f"interrupted by {self.interrupts.name}"

    def _show(self, loop: Loop, record: dict[str, Any], trackers: Sequence[Tracker]) -> None:
        loop.write(record)
        numbers = {name: value for name, value in record.items() if isinstance(value, int | float)}
        for tracker in trackers:
            tracker.log(record["step"], numbers)
        self._progress.step(record, loop.setup.limits.fraction(loop.totals))

    def _keep_after_failure(self, loop: Loop, failure: WinnowError, summary: Summary) -> None:
        """Keep what was learned before the failure; when that fails too, the first failure is what counts."""
        try:
            if not isinstance(failure, DiskStop):
                loop.save()
            loop.write_ledger()
            loop.folder.write_summary(summary)
        except SafetyStop as error:
            if not isinstance(failure, DiskStop):
                self._progress.note(str(error))
