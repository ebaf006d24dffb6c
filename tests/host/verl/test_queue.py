"""The replay buffer, padding and estimator on a real TransferQueue, without models: rows are put there by hand."""

from types import SimpleNamespace

import pytest

pytest.importorskip("verl")

import numpy as np
import ray
import torch
import transfer_queue as tq
from verl.protocol import DataProto
from verl.trainer.ppo.core_algos import AdvantageEstimator, agg_loss
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.utils.seqlen_balancing import calculate_workload, get_seqlen_balanced_partitions
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

import winnow
import winnow.train.seeds
from tests.host.verl.fleet import uid
from tests.host.verl.test_setup import N, config
from winnow.errors import BudgetError, RewardError, SafetyStop
from winnow.host.verl import actor, driver
from winnow.host.verl.advantage import estimate
from winnow.host.verl.padding import spread
from winnow.host.verl.play import Report
from winnow.host.verl.replay import WinnowReplayBuffer
from winnow.host.verl.setup import Setup

END = 1
ACTOR = "actor_rollout_ref.actor"


class Trainer:
    """What the buffer sees of verl's trainer."""

    def __init__(self, settings):
        self.config = settings
        self.tokenizer = SimpleNamespace(eos_token_id=END)

    def refill(self, prompts):
        raise AssertionError("not in these tests")


def buffer(settings):
    sampler = {"max_off_policy_threshold": 8, "max_off_policy_strategy": "drop", "sampler_kwargs": {}}
    return WinnowReplayBuffer("sync", {}, refill_fn=Trainer(settings).refill, poll_interval=1.0, **sampler)


def put(name, session, reward, outputs=1, length=4):
    """Write the rows of a rollout as verl's worker does."""
    fields, keys, tags = [], [], []
    for part in range(outputs):
        size = length + part
        scores = torch.zeros(size)
        scores[-1] = reward
        fields.append({
            "prompts": torch.full((3,), 7), "responses": torch.full((size,), 9),
            "input_ids": torch.full((3 + size,), 9),
            "position_ids": torch.arange(3 + size), "response_mask": torch.ones(size, dtype=torch.int64),
            "loss_mask": torch.ones(size, dtype=torch.int64), "rm_scores": scores, "uid": name, "num_turns": 2,
            "session_id": session, "rollout_log_probs": torch.zeros(size),
        })  # fmt: skip
        keys.append(f"{name}_{session}_{part}")
        tags.append({"status": "success", "prompt_len": 3, "response_len": size, "seq_len": 3 + size,
                     "global_steps": 1, "min_global_steps": 0, "max_global_steps": 0})  # fmt: skip
    tq.kv_batch_put(keys=keys, partition_id="train", fields=list_of_dict_to_tensordict(fields), tags=tags)


def played(settings, rewards, outputs=lambda prompt, session: 1, number=1, lose=None):
    """Play a step through a real coordinator and queue; rewards (prompt, session) to number or None."""
    setup = Setup.read(settings)
    coordinator = actor.start(setup)
    driver.set_coordinator(coordinator)
    names = [uid(prompt) for prompt in range(setup.pool)]
    tags = [{"is_prompt": True, "status": "pending", "global_steps": number} for _ in names]
    tq.kv_batch_put(keys=names, partition_id="train", tags=tags)
    ray.get(coordinator.open.remote(number, {name: f"w{prompt % 2}" for prompt, name in enumerate(names)}))
    reports = {name: [] for name in names}
    todo = set(names)
    if lose:
        first = ray.get(coordinator.next.remote(number, names[1], []))
        put(names[1], first[0], 1.0)
        ray.get(coordinator.lose.remote(lose))
        todo -= {name for prompt, name in enumerate(names) if f"w{prompt % 2}" == lose}
    calls = {name: coordinator.next.remote(number, name, []) for name in sorted(todo)}
    while calls:
        (done,), _ = ray.wait(list(calls.values()), timeout=30)
        name = next(name for name, call in calls.items() if call is done)
        sessions, prompt = ray.get(done), names.index(name)
        if not sessions:
            del calls[name]
            tq.kv_put(key=name, partition_id="train", tag={"status": "finished"})
            continue
        told = []
        for session in sessions:
            reward, parts = rewards(prompt, session), outputs(prompt, session)
            if reward is not None:
                put(name, session, reward, parts, length=4 + prompt)
            told.append(Report(session, reward, None, (4 + prompt) * parts))
        reports[name] += told
        calls[name] = coordinator.next.remote(number, name, told)
    return setup, names, coordinator


@pytest.fixture(autouse=True)
def empty_queue(cluster):
    yield
    left = list(tq.kv_list("train").get("train", {})) if tq.kv_list("train") else []
    if left:
        tq.kv_clear(keys=left, partition_id="train")


def reference(setup, rewards):
    """What the embedded recipe keeps: {(prompt, session): advantage x weight}."""
    step = setup.recipe.begin(setup.pool, budget=setup.budget, seed=winnow.train.seeds.derive(setup.seed, "decide", 1))
    order, started = [], [0] * setup.pool
    while not step.done:
        wave = []
        for prompt, count in step.ask():
            wave += [(prompt, started[prompt] + k) for k in range(count)]
            started[prompt] += count
        wave.sort()
        step.tell([p for p, _ in wave], [rewards(p, s) for p, s in wave], tokens=[4 + p for p, _ in wave])
        order += wave
    batch = step.finish()
    return {order[r]: v for r, v in zip(batch.rows.tolist(), (batch.advantages * batch.weights).tolist(), strict=True)}


def advantages(batch, settings):
    """Run verl's own advantage code on the rows of a batch, in their order; {key: (row, mask)}."""
    data = tq.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=["uid", "response_mask", "rm_scores"])
    found = DataProto(batch=data.to_padded_tensor())
    found.non_tensor_batch["uid"] = np.array(found.batch.pop("uid").tolist(), dtype=object)
    found.batch["token_level_rewards"] = found.batch["rm_scores"]
    found = compute_advantage_for_multi_trajectories(found, batch.keys, settings["algorithm"]["adv_estimator"])
    rows, mask = found.batch["advantages"], found.batch["response_mask"]
    return {key: (row, m) for key, row, m in zip(batch.keys, rows, mask, strict=True)}


def balanced(batch, multiple, gpus):
    """Pad and reorder as verl's trainer does before the update."""
    batch = upsample_batch_to_divisible_size(batch, multiple, END)
    load = calculate_workload(torch.tensor([tag["seq_len"] for tag in batch.tags]))
    parts = get_seqlen_balanced_partitions(load, k_partitions=gpus, equal_size=True)
    batch.reorder([row for part in parts for row in part])
    return batch


def coins(prompt, session):
    return float(np.random.default_rng([prompt, session]).random() < prompt / 5)


def graded(prompt, session):
    return float(np.random.default_rng([prompt, session]).random())


def some_missing(prompt, session):
    return None if session % 3 == 0 else graded(prompt, session)


CASES = {
    "grpo": {"recipe": "grpo", "settings": {"n": 4}},
    "pods": {"recipe": "pods", "settings": {"n": 12, "m": 4}},
    "vigor+pods": {"recipe": "vigor+pods", "settings": {"m": 4}},
    "random": {"recipe": "pods", "settings": {"n": 6, "m": 4, "selection": "random"}},
    "tokens": {"recipe": "vigor+pods", "settings": {"m": 4}, "tokens": 600},
}


@pytest.mark.parametrize("rewards", [coins, graded, some_missing], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", CASES)
def test_kept_rows_and_advantages_are_the_recipes(name, rewards):
    settings = config({N: 4, "data.train_batch_size": 6, f"{ACTOR}.ppo_mini_batch_size": 6}, **CASES[name])
    setup, names, _ = played(settings, rewards)
    batch, metrics = buffer(settings).sample(1, "train", 6)
    wanted = {f"{names[p]}_{s}_0": value for (p, s), value in reference(setup, rewards).items()}
    assert {key for key in batch.keys if not key.startswith("pad")} == wanted.keys()
    assert set(tq.kv_list("train")["train"]) == set(batch.keys)
    assert metrics["winnow/kept_rows"] == len(wanted)
    assert metrics["winnow/padding_rows"] == -len(wanted) % 24
    batch = balanced(batch, 24, 4)
    assert len(batch) % 24 == 0
    for key, (row, mask) in advantages(batch, settings).items():
        torch.testing.assert_close(row, torch.tensor(wanted.get(key, 0.0), dtype=row.dtype) * mask)


def test_several_outputs_of_a_session_share_its_worth():
    settings = config({N: 4, "data.train_batch_size": 3}, recipe="pods", settings={"n": 6, "m": 4})
    outputs = lambda prompt, session: 1 + session % 3
    setup, names, _ = played(settings, graded, outputs)
    batch, _ = buffer(settings).sample(1, "train", 3)
    wanted = {
        f"{names[p]}_{s}_{part}": value
        for (p, s), value in reference(setup, graded).items()
        for part in range(1 + s % 3)
    }
    assert set(batch.keys) >= wanted.keys()
    for key, (row, mask) in advantages(batch, settings).items():
        torch.testing.assert_close(row, torch.tensor(wanted.get(key, 0.0), dtype=row.dtype) * mask)


def test_a_group_of_one_is_worth_nothing_where_verl_gives_its_reward():
    settings = config({N: 2, "data.train_batch_size": 3}, recipe="grpo", settings={"n": 2})
    alone = lambda prompt, session: None if (prompt, session) == (0, 1) else float(session)
    _, names, _ = played(settings, alone)
    batch, _ = buffer(settings).sample(1, "train", 3)
    key = f"{names[0]}_0_0"
    assert key in batch.keys
    assert not advantages(batch, settings)[key][0].any()
    data = DataProto.from_dict(
        {"token_level_rewards": torch.tensor([[0.0, 5.0]]), "response_mask": torch.ones(1, 2)},
        non_tensors={"uid": np.array(["alone"], dtype=object)},
    )
    plain = compute_advantage_for_multi_trajectories(data, ["alone_0_0"], AdvantageEstimator.GRPO)
    assert plain.batch["advantages"].max() == pytest.approx(5.0, rel=1e-4)


def test_nothing_kept_leaves_the_shortest_row_worth_nothing():
    settings = config({N: 4, "data.train_batch_size": 3}, recipe="grpo", settings={"n": 4, "gate": "zero_signal"},
                      max_no_signal_steps=2)  # fmt: skip
    same = lambda prompt, session: 1.0
    found = buffer(settings)
    played(settings, same)
    batch, metrics = found.sample(1, "train", 3)
    assert metrics["winnow/empty"] == 1.0 and batch.keys == [f"{uid(0)}_0_0"]
    assert not advantages(batch, settings)[batch.keys[0]][0].any()
    tq.kv_clear(keys=batch.keys, partition_id="train")
    played(settings, same, number=2)
    with pytest.raises(SafetyStop, match="2 steps in a row"):
        found.sample(2, "train", 3)


def test_a_step_without_rewards_says_so():
    settings = config({N: 4, "data.train_batch_size": 2}, recipe="grpo", settings={"n": 4})
    _, names, _ = played(settings, lambda prompt, session: None)
    put(names[0], 0, float("nan"))
    with pytest.raises(RewardError, match="none of 8 rollouts has a reward"):
        buffer(settings).sample(1, "train", 2)


def test_prompts_of_a_lost_worker_do_not_hold_the_step_up():
    settings = config({N: 4, "data.train_batch_size": 4}, recipe="grpo", settings={"n": 4})
    _, names, _ = played(settings, graded, lose="w1")
    batch, metrics = buffer(settings).sample(1, "train", 4)
    assert metrics["winnow/lost_rollouts"] == 8
    assert {key.split("_")[0] for key in batch.keys} == {names[0], names[2]}
    assert set(tq.kv_list("train")["train"]) == set(batch.keys), "what the lost worker wrote is gone"


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"])
@pytest.mark.parametrize("denominator", ["kept", "full"])
def test_padding_does_not_shrink_the_step(mode, denominator):
    """verl's own `agg_loss` over mini-batches, with loss -A per token: the mean over kept rows, or over all."""
    settings = config(
        {N: 4, "data.train_batch_size": 6, f"{ACTOR}.ppo_mini_batch_size": 2, f"{ACTOR}.loss_agg_mode": mode},
        recipe="pods", settings={"n": 7, "m": 4, "denominator": denominator},
    )  # fmt: skip
    few = lambda prompt, session: None if prompt == 0 and session > 2 else graded(prompt, session)
    setup, _, _ = played(settings, few)
    batch, _ = buffer(settings).sample(1, "train", 6)
    worth, mini = reference(setup, few), 8
    assert len(batch) == 24 and len(worth) == 23
    rows = advantages(batch, settings)
    found = 0.0
    for first in range(0, len(batch), mini):
        part = [rows[key] for key in batch.keys[first : first + mini]]
        loss, mask = torch.stack([row for row, _ in part]), torch.stack([m for _, m in part])
        found += agg_loss(
            loss, mask, mode, batch_num_tokens=int(mask.sum()), global_batch_size=mini, loss_scale_factor=10
        ).item() / (len(batch) / mini)
    scored = {(p, s): 4 + p for p in range(6) for s in range(7) if few(p, s) is not None}
    over = scored if denominator == "full" else {draw: scored[draw] for draw in worth}
    if mode == "token-mean":  # every mini-batch divides by tokens of its own, so this holds on average only
        mean = sum(value * scored[draw] for draw, value in worth.items()) / sum(over.values())
        assert found == pytest.approx(mean, abs=0.1)
        return
    per_row = {"seq-mean-token-mean": lambda size: 1, "seq-mean-token-sum": lambda size: size}.get(
        mode, lambda size: size / 10
    )
    wanted = sum(value * per_row(scored[draw]) for draw, value in worth.items()) / len(over)
    assert found == pytest.approx(wanted, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("rows, padding", [(129, 127), (17, 7), (23, 1), (8, 8), (100, 28)])
def test_padding_is_spread_evenly(rows, padding):
    order = spread(rows, padding)
    assert sorted(order) == list(range(rows + padding))
    assert [row for row in order if row < rows] == list(range(rows))
    for mini in (8, 16):
        if (rows + padding) % mini == 0:
            counts = [sum(row >= rows for row in order[k : k + mini]) for k in range(0, len(order), mini)]
            assert max(counts) - min(counts) <= 1


def test_a_row_nobody_decided_about_is_an_error():
    driver.set_worth(driver.Worth(rows={"a#0": 1.0}))
    with pytest.raises(BudgetError, match="'b#0' is in the batch"):
        estimate(torch.zeros(2, 1), torch.ones(2, 1), ["a#0", "b#0"])
