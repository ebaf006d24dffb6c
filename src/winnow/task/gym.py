"""Families of reasoning-gym as tasks: ``reasoning-gym:chain_sum`` and a hundred others.

Item ``i`` of a reasoning-gym data set with seed ``s`` is made from ``Random(s + i)``, so data sets whose
seeds lie closer than their size share items. Train and test draw from blocks of seeds that never meet; items that
repeat by content are dropped from train all the same, because small families repeat themselves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from winnow import errors
from winnow.reward.base import Item
from winnow.rollout import Prompt, Verdict
from winnow.task import screen
from winnow.task.record import Task, fingerprint
from winnow.task.render import RENDERERS

try:
    import reasoning_gym
    from reasoning_gym.factory import DATASETS
except ImportError as error:
    raise errors.MissingExtra("tasks of reasoning-gym need it installed: pip install 'winnow-rl[gym]'") from error

BLOCK = 1_000_000
"""Seeds set apart for one split; no split can be larger."""

DEFAULTS: Mapping[str, Any] = {"train_size": 1000, "test_size": 128, "compact": None, "threshold": 0.99}
"""Options of every family and their defaults; ``compact=None`` means compact where there is a renderer."""

_PATIENCE = 20


def load(name: str, seed: int, options: Mapping[str, Any]) -> Task:
    """Draw a task from a family.

    Args:
        name: name of the family.
        seed: decides every item.
        options: ``train_size``, ``test_size``; ``compact``: short prompts from the metadata (default: where
            the family has a renderer) or the full question; ``threshold``: scores from there on count as
            right (1.0) and others as wrong (0.0), None keeps the raw score; anything else goes to the
            family's own configuration (``min_terms=2``).

    Returns:
        The task. The items of test are distinct; no item of train is among them.

    Raises:
        ConfigError: on an unknown family or option, a value the family refuses, or a family with too few
            distinct items.
        MissingExtra: if reasoning-gym is not installed.
    """
    families = sorted(set(DATASETS) - {"composite"})
    if name not in families:
        raise errors.ConfigError(
            f"unknown family {name!r} of reasoning-gym{errors.did_you_mean(name, families)} "
            f"({len(families)} are known: {', '.join(families[:8])}, ...)"
        )
    own = {f.name for f in dataclasses.fields(DATASETS[name][1])} - {"seed", "size"}
    for option in options:
        if option not in own and option not in DEFAULTS:
            raise errors.unknown(f"option of the task 'reasoning-gym:{name}'", option, [*own, *DEFAULTS])
    general = {key: options.get(key, value) for key, value in DEFAULTS.items()}
    config = {key: value for key, value in options.items() if key not in DEFAULTS}
    for key in ("train_size", "test_size"):
        if not isinstance(general[key], int) or not 1 <= general[key] <= BLOCK // _PATIENCE:
            raise errors.ConfigError(
                f"the option {key} is {general[key]!r}; it must be a whole number from 1 to {BLOCK // _PATIENCE}"
            )
    threshold = general["threshold"]
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
        raise errors.ConfigError(f"the option threshold is {threshold!r}; it must be a number, or None for raw scores")
    compact = name in RENDERERS if general["compact"] is None else general["compact"]
    if compact and name not in RENDERERS:
        raise errors.ConfigError(
            f"compact is on, but the family {name!r} has no compact form (those that have: "
            f"{', '.join(sorted(RENDERERS))}); leave compact out"
        )
    first = 2 * BLOCK * (seed % 1000)
    test = _draw(name, config, first + BLOCK, general["test_size"], compact, "test", frozenset())
    train = _draw(name, config, first, general["train_size"], compact, "train", {p.text for p in test})
    distinct = len({prompt.text for prompt in train})
    notes: tuple[str, ...] = ()
    if distinct < len(train):
        notes = (f"{len(train)} training prompts hold {distinct} distinct questions: the family repeats itself",)
    return Task(
        name=f"reasoning-gym:{name}",
        train=train,
        test=test,
        reward=GymReward(name, config, threshold),
        fingerprint=fingerprint(train, test),
        notes=notes,
    )


def _draw(
    name: str,
    config: Mapping[str, Any],
    seed: int,
    size: int,
    compact: bool,
    split: str,
    taken: set[str] | frozenset[str],
) -> list[Prompt]:
    """Draw ``size`` prompts whose text is not in ``taken``; for test they are also distinct."""
    prompts: list[Prompt] = []
    used = set(taken)
    for entry in _entries(name, config, seed, _PATIENCE * size):
        text = RENDERERS[name](entry["metadata"]) if compact else str(entry["question"])
        if text in used:
            continue
        if split == "test":
            used.add(text)
        answer = None if entry["answer"] is None else str(entry["answer"])
        fields = {"family": name, "entry": entry}
        prompts.append(Prompt(id=f"{split}:{len(prompts)}", content=text, answer=answer, fields=fields))
        if len(prompts) == size:
            return prompts
    why, remedy = ("repeat those", "test_size") if split == "test" else ("are test items", "test_size or train_size")
    raise errors.ConfigError(
        f"the family {name!r} gave only {len(prompts)} of {size} {split} items in {_PATIENCE * size} draws "
        f"(all others {why}); lower {remedy}, or widen the options of the family"
    )


def _entries(name: str, config: Mapping[str, Any], seed: int, size: int) -> Iterator[dict[str, Any]]:
    dataset = _dataset(name, config, seed=seed, size=size)
    for index in range(size):
        with _quiet():
            yield dataset[index]


def _dataset(name: str, config: Mapping[str, Any], **where: int) -> Any:
    try:
        with _quiet():
            return reasoning_gym.create_dataset(name, **where, **config)
    except (AssertionError, TypeError, ValueError) as error:
        raise errors.ConfigError(
            f"the family {name!r} refuses its options {dict(config)}: {error or type(error).__name__}"
        ) from error


def _quiet() -> contextlib.AbstractContextManager[Any]:
    """Keep what a family prints away from our standard output, which may be JSON."""
    return contextlib.redirect_stdout(io.StringIO())


class GymReward:
    """The scorer of a family, made safe to run on model text.

    Args:
        family: name of the family.
        config: its options.
        threshold: a score at or above it gives outcome 1.0, one below gives 0.0; None keeps the score as
            reward and outcome (many families give a little for nonsense, so that no group is ever tied).
    """

    def __init__(self, family: str, config: Mapping[str, Any], threshold: float | None) -> None:
        self.family = family
        self.config = dict(config)
        self.threshold = threshold
        self._scorer: Any = None

    @property
    def name(self) -> str:
        """``reasoning-gym:FAMILY``."""
        return f"reasoning-gym:{self.family}"

    def score(self, items: Sequence[Item]) -> list[Verdict]:
        """Judge every item; a scorer that raises on a completion calls it wrong, with the reason."""
        if self._scorer is None:
            self._scorer = _dataset(self.family, self.config, seed=0, size=1)
        return [self._judge(item) for item in items]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_scorer": None}

    def _judge(self, item: Item) -> Verdict:
        answer = item.completion.strip()
        reason = screen.refuse(self.family, answer)
        if reason:
            return Verdict(score=0.0, outcome=0.0, reason=reason)
        try:
            with _quiet():
                score = float(self._scorer.score_answer(answer=answer, entry=item.prompt.fields["entry"]))
        except Exception as error:
            # Scorers parse the answer as if it were well formed; what they raise then is theirs, not ours.
            return Verdict(score=0.0, outcome=0.0, reason=f"the scorer raised {type(error).__name__}: {error}")
        if self.threshold is not None:
            score = 1.0 if score >= self.threshold else 0.0
        return Verdict(score=score, outcome=score)
