"""A few groups of a run to read: what was asked, what came back, what was kept and why not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from winnow.report.run import Record, Run, number

MOMENTS = 3
GROUPS = 2
ROLLOUTS = 8


@dataclass(frozen=True)
class Group:
    """The rollouts of one prompt in one step.

    Attributes:
        step: the step.
        prompt_id: the prompt's name.
        prompt: its text.
        size: how many rollouts it got.
        rollouts: at most `ROLLOUTS` of them, trained ones first, then by reward from the top.
    """

    step: int
    prompt_id: str
    prompt: str
    size: int
    rollouts: Sequence[Record]


def sample_groups(run: Run) -> list[Group]:
    """Return groups from the first, middle and last step that was logged, those with signal first.

    Within a step larger groups go first, then the order of the log: the same run gives the same sample.
    """
    logged: dict[int, dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    wanted = _moments([int(step["step"]) for step in run.steps if step.get("rollouts")])
    for rollout in run.rollouts():
        step = int(rollout.get("step", -1))
        if step in wanted:
            logged[step][str(rollout.get("prompt_id", "?"))].append(rollout)
    return [
        _group(step, prompt_id, rollouts)
        for step in wanted
        for prompt_id, rollouts in sorted(logged[step].items(), key=lambda item: _interest(item[1]))[:GROUPS]
    ]


def _moments(steps: Sequence[int]) -> list[int]:
    if not steps:
        return []
    places = {round(at * (len(steps) - 1) / (MOMENTS - 1)) for at in range(MOMENTS)}
    return [steps[place] for place in sorted(places)]


def _interest(rollouts: Sequence[Record]) -> tuple[bool, int]:
    rewards = {number(rollout.get("reward")) for rollout in rollouts} - {None}
    return len(rewards) < 2, -len(rollouts)


def _group(step: int, prompt_id: str, rollouts: Sequence[Record]) -> Group:
    def order(rollout: Record) -> tuple[bool, float]:
        reward = number(rollout.get("reward"))
        return rollout.get("fate") != "trained", float("inf") if reward is None else -reward

    shown = sorted(rollouts, key=order)[:ROLLOUTS]
    return Group(step, prompt_id, str(rollouts[0].get("prompt", "")), len(rollouts), shown)
