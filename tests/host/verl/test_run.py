"""Whole steps of verl's trainer: the rows it trains and their advantages are those of the embedded recipe."""

import pytest

pytest.importorskip("verl")

import numpy as np
import ray

import winnow
import winnow.train.seeds
from tests.host.verl import rig
from winnow.host.verl import actor

RUNS = {
    "grpo": (["+winnow.recipe=grpo", "+winnow.settings.n=4"], 4),
    "pods": (["+winnow.recipe=pods", "+winnow.settings.n=8", "+winnow.settings.m=4"], 4),
    "vigor+pods": (["+winnow.recipe=vigor+pods", "+winnow.settings.m=4"], 4),
    "winnow": (["+winnow.recipe=winnow", "+winnow.settings.n=4"], 4),
}


def expected(rule, seed, uids, reports):
    """Play the step again without verl, on the rewards that verl's scorer gave."""
    step = rule.begin(len(uids), seed=seed, ids=uids)
    order, started = [], dict.fromkeys(range(len(uids)), 0)
    while not step.done:
        wave = []
        for prompt, count in step.ask():
            wave += [(prompt, started[prompt] + k) for k in range(count)]
            started[prompt] += count
        wave.sort()
        told = [reports[uids[prompt], session] for prompt, session in wave]
        step.tell([p for p, _ in wave], [r.reward for r in told], tokens=[r.tokens for r in told])
        order += wave
    batch = step.finish()
    # verl divides by the tokens it trains on; a recipe that divides by all of them says so in what rows are worth.
    scale = batch.kept_tokens / batch.full_tokens if rule.objective.denominator == "full" else 1.0
    values = (scale * batch.advantages * batch.weights).tolist()
    kept = [order[row] for row in batch.rows]
    return {f"{uids[p]}_{s}_0": value for (p, s), value in zip(kept, values, strict=True)}, len(order)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_three_steps_train_what_the_embedded_recipe_keeps(name, cluster, verl_files, tmp_path, monkeypatch):
    settings, rows = RUNS[name]
    monkeypatch.setattr(actor, "CoordinatorActor", rig.recording())
    config = rig.compose(
        *rig.overrides(verl_files, tmp_path), *settings, f"actor_rollout_ref.rollout.n={rows}",
        "trainer.total_training_steps=3",
    )  # fmt: skip
    trainer, manager = rig.run(config)
    rule, record = manager.setup.recipe, ray.get(manager.coordinator.record.remote())
    assert len(trainer.seen) == 3
    for number, step in enumerate(trainer.seen, 1):
        uids, reports = record[number]
        assert len(uids) == 4 * rule.pool
        wanted, drawn = expected(rule, winnow.train.seeds.derive(0, "decide", number), uids, reports)
        assert len(reports) == drawn == 4 * rule.allocation.n
        real = {key: row for row, key in enumerate(step["keys"]) if not key.startswith("pad")}
        assert real.keys() == wanted.keys()
        assert step["queue"] == set(step["keys"]), "what does not train is gone from the queue"
        assert len(step["keys"]) % 16 == 0
        for key, row in enumerate(step["keys"]):
            values, mask = np.array(step["advantages"][key]), np.array(step["response_mask"][key])
            right = wanted.get(row, 0.0)
            np.testing.assert_allclose(values, right * mask, rtol=1e-5, atol=1e-6)
    assert any(value for step in trainer.seen for row in step["advantages"] for value in row), "something was learnt"


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_rollouts_and_is_replaced(cluster, verl_files, tmp_path):
    settings, rows = RUNS["pods"]
    config = rig.compose(
        *rig.overrides(verl_files, tmp_path), *settings, f"actor_rollout_ref.rollout.n={rows}",
        "trainer.total_training_steps=2",
    )  # fmt: skip
    flag = tmp_path / "die"
    flag.touch()
    trainer, manager = rig.run(config, server=rig.Deadly(str(verl_files["model"]), flag))
    first, second = (step["metrics"] for step in trainer.seen)
    assert first["winnow/lost_rollouts"] == 2 * 8, "two of four prompts were the dead worker's"
    assert first["winnow/rollouts"] == second["winnow/rollouts"] == 4 * 8
    assert second["winnow/lost_rollouts"] == 0
    assert sum(name.endswith("again") for name in manager._names) == 1
    assert len({key.split("_")[0] for key in trainer.seen[0]["keys"] if not key.startswith("pad")}) == 2
