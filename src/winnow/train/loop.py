"""A run in progress: what lives from step to step, and the one step that everything else repeats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from winnow.budget import Ledger
from winnow.curriculum import Epochs
from winnow.objective import UpdateStats
from winnow.train import metrics, weights
from winnow.train.collect import Collected
from winnow.train.config import TrainConfig
from winnow.train.draw import Draw
from winnow.train.encoding import Split
from winnow.train.folder import RunFolder
from winnow.train.guards import Guards
from winnow.train.held_out import held_out
from winnow.train.identity import Identity
from winnow.train.logs import write_json
from winnow.train.prepare import Setup, training_sampler
from winnow.train.recalled import Stored
from winnow.train.seeds import derive
from winnow.train.state import Streaks, Totals
from winnow.train.update import build_learner, dump, rows_of

STATE = ("identity", "totals", "streaks", "ledger", "accuracy", "curriculum", "recipe", "positions")
"""What the ``state.json`` of a checkpoint holds."""


class Loop:
    """Holds policy, optimiser, curriculum and counters, and moves them one step at a time.

    Args:
        config: the settings.
        setup: what was loaded and checked.
        folder: where lines and checkpoints go.
        note: shows a line to a person.
    """

    def __init__(self, config: TrainConfig, setup: Setup, folder: RunFolder, note: Callable[[str], None]) -> None:
        self.config, self.setup, self.folder = config, setup, folder
        self.totals, self.streaks, self.ledger = Totals(), Streaks(), Ledger()
        self.accuracy: dict[str, float] = {}
        self._saved: int | None = None
        self._logged = 0
        self.identity = Identity.of(config, setup.task.fingerprint, weights.fingerprint(setup.model))
        self._note = note
        self._curriculum = Epochs(len(setup.train), derive(config.seed, "order"))
        self._draw = Draw(setup, training_sampler(config, setup), self._curriculum, config.seed, note)
        self._learner = build_learner(config, setup)
        self._stored = Stored()
        self._guards = Guards(config, self.streaks, str(setup.model.dtype).removeprefix("torch."), note)
        weights.seed_generators(derive(config.seed, "global"))

    def step(self, stopped: Callable[[], bool]) -> dict[str, Any]:
        """Draw, update and account for one step; return its metrics, without those of evaluation.

        Raises:
            Interrupted: while sampling; the step is dropped as if it had never begun.
            SafetyStop: the logits are not finite.
        """
        started = perf_counter()
        number = self.totals.steps + 1
        split, collected = self._draw.step(number, self.setup.limits.next(self.totals), stopped)
        updating = perf_counter()
        stats = self._update(split, collected)
        logged = perf_counter()
        record = metrics.step_metrics(collected, stats)
        if outliers := metrics.kl_outliers(collected, split.prompts, number, stats):
            record["kl_outliers"] = outliers
        if collected.batch.decisions:
            record["decisions"] = collected.batch.decisions.record([prompt.id for prompt in split.prompts])
        self._account(record, collected, stats)
        self._write_rollouts(number, split, collected, stats)
        now = perf_counter()
        seconds = {
            **collected.seconds,
            "update": logged - updating,
            "log": now - logged,
            "step": now - started,
        }
        self.totals.seconds += seconds["step"]
        for phase, spent in seconds.items():
            self.ledger.spend(phase, spent)
        self._last = collected, stats
        return {
            "step": number,
            **self._curriculum.metrics(),
            **record,
            **self._draw.counters(),
            **{f"total/{name}": value for name, value in self._cumulative().items()},
            **{f"seconds/{phase}": spent for phase, spent in seconds.items()},
        }

    def check(self) -> None:
        """Hold the last step against the safety limits.

        Raises:
            SafetyStop: one was reached.
        """
        self._guards.check(*self._last)

    def evaluate(self, stopped: Callable[[], bool] = lambda: False) -> dict[str, Any]:
        """Measure held-out accuracy; return the metrics and the seconds it took. Empty without held-out prompts.

        Raises:
            Interrupted: ``stopped``, asked while sampling, said so.
        """
        if not len(self.setup.test):
            return {}
        started = perf_counter()
        found = held_out(self.config, self.setup, stopped)
        self.accuracy = {"first": self.accuracy.get("first", found.accuracy), "final": found.accuracy}
        seconds = perf_counter() - started
        self.ledger.spend("eval", seconds)
        return {**found.metrics(), "seconds/eval": seconds}

    def write(self, record: dict[str, Any]) -> None:
        """Append one line to the metrics."""
        self.folder.metrics.write([record])
        self._logged = record["step"]

    def save(self) -> None:
        """Save a checkpoint of everything.

        Not when this step has one, nor when it failed before its line was written: that step is drawn again.
        """
        if self.totals.steps == self._saved or self.totals.steps != self._logged:
            return
        state = {
            "identity": self.identity.as_dict(),
            "totals": self.totals.as_dict(),
            "streaks": self.streaks.as_dict(),
            "ledger": self.ledger.as_dict(),
            "accuracy": self.accuracy,
            "curriculum": self._curriculum.state_dict(),
            "recipe": self.setup.recipe.state_dict(),
            "stored": self._stored.state_dict() if len(self._stored) else None,
            "positions": self.folder.positions(),
        }
        setup, optimiser = self.setup, self._learner.state_dict()
        self.folder.checkpoints.save(
            self.totals.steps,
            lambda path: weights.save(path, setup.model, setup.tokenizer, optimiser),
            state,
        )
        self._saved = self.totals.steps
        self.write_ledger()

    def restore(self, path: Path, state: dict[str, Any], changed: set[str]) -> None:
        """Continue from a checkpoint.

        Args:
            path: its folder.
            state: its state.
            changed: names of settings that differ; parts whose meaning changed with them start anew.

        Raises:
            ResumeError: a file of the checkpoint, or a log, is damaged.
        """
        optimiser = weights.restore(path, self.setup.model)
        with weights.reading(path / "optimiser.pt"):
            self._learner.load_state_dict(optimiser)
        with weights.reading(path / "state.json"):
            self._restore_counters(state, changed)
        self.folder.cut(state["positions"])
        self._logged = self.totals.steps
        if changed:
            # A checkpoint of the run as it is now, before config.toml says so: else neither could be resumed.
            self.save()
        self._saved = self.totals.steps

    def _restore_counters(self, state: dict[str, Any], changed: set[str]) -> None:
        self.totals = Totals(**state["totals"])
        self.streaks.__dict__.update(Streaks.restored(state["streaks"]).__dict__)
        self.ledger = Ledger.from_dict(state["ledger"])
        self.accuracy = dict(state["accuracy"])
        if "data" in changed:
            self._note("the data changed: the order of prompts and what was learned about them start anew")
        else:
            self._curriculum.load_state_dict(state["curriculum"])
            if not changed & {"recipe", "recipe_options", "n", "m"}:
                self.setup.recipe.load_state_dict(state["recipe"])
                if state.get("stored") is not None:
                    self._stored.load_state_dict(state["stored"])

    def write_ledger(self) -> None:
        """Write ``ledger.json``."""
        write_json(self.folder.path / "ledger.json", self.ledger.as_dict())

    def _update(self, split: Split, collected: Collected) -> UpdateStats:
        again, totals = self._stored.rows(collected.batch, self.setup.recipe.objective)
        stats = self._learner.update(rows_of(split, collected) + again, totals)
        self._stored.keep(split, collected)
        return stats

    def _account(self, record: dict[str, Any], collected: Collected, stats: UpdateStats) -> None:
        totals = self.totals
        totals.steps += 1
        for name in ("rollouts", "rows", "tokens", "trained_tokens", "prompts"):
            setattr(totals, name, getattr(totals, name) + record[name])
        totals.skipped += int(stats.skipped)
        totals.updates += stats.optimizer_steps
        totals.no_signal += record["signal/no_signal"]
        self.ledger.add(collected.batch.ledger)

    def _cumulative(self) -> dict[str, float]:
        names = ("prompts", "rollouts", "rows", "tokens", "trained_tokens", "seconds", "skipped")
        return {name: getattr(self.totals, name) for name in names}

    def _write_rollouts(self, number: int, split: Split, collected: Collected, stats: UpdateStats) -> None:
        if self.config.log_rollouts != "none":
            self.folder.rollouts.write(
                metrics.rollout_records(
                    collected, split.prompts, number, trained_only=self.config.log_rollouts == "trained"
                )
            )
        if stats.nonfinite:
            dump(self.folder.path / "debug", number, rows_of(split, collected), stats)
