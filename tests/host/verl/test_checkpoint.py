"""State of a recipe through verl's checkpoint callback and back, as a resumed run finds it."""

from dataclasses import dataclass, field

import pytest

pytest.importorskip("verl")

import ray

import winnow
from tests.host.verl.test_queue import played
from tests.host.verl.test_setup import N, config
from winnow.errors import ResumeError
from winnow.host.verl import actor
from winnow.host.verl.checkpoint import WinnowCheckpoint, saved_state
from winnow.host.verl.setup import Setup


@dataclass(frozen=True, slots=True)
class Growing(winnow.allocation.Uniform):
    """Gives one rollout more with every step."""

    memory: dict = field(default_factory=lambda: {"steps": 0}, compare=False)

    def begin(self, prompts, rollouts, rng):
        self.memory["steps"] += 1
        return winnow.allocation.Uniform(self.n + self.memory["steps"]).begin(prompts, rollouts, rng)

    def state_dict(self):
        return dict(self.memory)

    def load_state_dict(self, state):
        self.memory.update(state)


GROWING = winnow.Recipe("growing", allocation=Growing(4), selection=winnow.selection.Select("random", 4))


def settings(folder, **section):
    found = config({N: 4, "data.train_batch_size": 2}, recipe=f"{__name__}:GROWING", rollouts=50, **section)
    found["trainer"] |= {"resume_mode": "auto", "default_local_dir": str(folder)}
    return found


def test_a_resumed_recipe_goes_on_where_it_was(cluster, tmp_path):
    mine = settings(tmp_path)
    assert saved_state(mine, Setup.read(mine)) is None
    rewards = lambda prompt, session: float(session % 2)
    setup, _, coordinator = played(mine, rewards)
    ray.get(coordinator.finish.remote(1))
    folder = tmp_path / "global_step_1"
    WinnowCheckpoint(mine).on_save(trainer=None, global_step=1, checkpoint_dir=str(folder), async_save=False)
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("1")
    state = saved_state(mine, Setup.read(mine))
    assert state["state"] == {"allocation": {"steps": 1}} and state["ledger"]["rollouts"] == 10
    again = actor.start(Setup.read(mine))
    ray.get(again.load_state_dict.remote(state))
    owners = {"a": "w", "b": "w"}
    for number, each in ((2, 6), (3, 7)):
        ray.get(again.open.remote(number, owners))
        assert len(ray.get(again.next.remote(number, "a", []))) == each
    with pytest.raises(ResumeError, match="seed was 0, now 5"):
        saved_state(settings(tmp_path, seed=5), Setup.read(settings(tmp_path, seed=5)))
    by_path = settings(tmp_path)
    by_path["trainer"] |= {"resume_mode": "resume_path", "resume_from_path": str(folder)}
    assert saved_state(by_path, setup) == state
