"""The adapters of examples/frameworks, on stand-ins with the hosts' signatures and, where installed, on the hosts."""

import asyncio
import itertools
import random
from types import SimpleNamespace

import numpy as np
import pytest
from tests.examples import stand_ins
from tests.examples.stand_ins import Sample, Task, response, which

import winnow
from winnow.errors import ConfigError
from winnow.testing import RECIPES, Played, World, check, worlds

FAIR = {"graded", "mixed", "tied"}  # worlds in which every group is full: a host of one group size plays them exactly


def world(prompts, rewards, n=8, lengths=lambda prompt, draw: 1 + (prompt + draw) % 5):
    return World("made up", prompts, winnow.Budget(rollouts=prompts * n), rewards, lengths)


def hashed(prompt, draw):
    return random.Random(1000 * prompt + draw).random()


def full(recipe, prompts=6):
    """Return the worlds of `winnow.testing` in which no rollout is unscorable, with the recipe's own budget."""
    return [w for w in worlds(prompts, recipe.allocation.n) if w.name in FAIR]


# Hosts of one group size compute the advantage themselves; subtracting the group's mean is a rule all of them have.
RECTANGULAR = [
    (winnow.recipe("grpo", n=8, advantage="centred"), 8),
    (winnow.recipe("pods", n=8, m=4, advantage="centred"), 4),
    (winnow.recipe("vigor+pods", initial=4, m=4, advantage="centred"), 4),
]


def centred(groups):
    """Return draw -> reward minus the group's mean, over lists of (draw, reward)."""
    return {draw: reward - np.mean([r for _, r in group]) for group in groups for draw, reward in group}


# ---------------------------------------------------------------------------------------------------------- OpenRLHF


def openrlhf_settings(prompts, m, estimator="dr_grpo"):
    rollout = SimpleNamespace(batch_size=prompts, n_samples_per_prompt=m)
    advantage = SimpleNamespace(estimator=estimator, is_correction_level="off", gamma=1.0)
    return SimpleNamespace(
        rollout=rollout,
        vllm=SimpleNamespace(enable_sleep=False),
        algo=SimpleNamespace(dynamic_filtering_enable=False, advantage=advantage),
        reward=SimpleNamespace(clip_range=None),
    )


def loader(prompts):
    return [(None, [f"p{prompt}"], [""], [None]) for prompt in range(prompts)]


def openrlhf_step(host, recipe, task, m, seed=0):
    prompts = task.world.prompts
    strategy = SimpleNamespace(args=openrlhf_settings(prompts, m))
    engine = lambda prompt: response(prompt, *task.draw(prompt))
    generator = host.WinnowSamplesGenerator(strategy, loader(prompts), None, None, [engine], recipe=recipe, seed=seed)
    samples, _, used, _ = generator.generate_samples(max_len=2048)
    assert used == prompts
    return generator, samples


def openrlhf_groups(samples, m):
    rows = [(which(row.sequences[0, 1:]), float(row.rewards)) for row in samples]
    return [rows[i : i + m] for i in range(0, len(rows), m)]


@pytest.fixture
def openrlhf(monkeypatch):
    stand_ins.install(monkeypatch, stand_ins.openrlhf())
    return stand_ins.adapter("openrlhf_winnow", monkeypatch)


@pytest.mark.parametrize(("recipe", "m"), RECTANGULAR)
def test_openrlhf_trains_what_the_recipe_trains(openrlhf, recipe, m):
    def play(rule, world, seed):
        task = Task(world)
        _, samples = openrlhf_step(openrlhf, rule, task, m, seed)
        groups = openrlhf_groups(samples, m)
        for prompt, group in enumerate(groups):
            assert [draw[0] for draw, _ in group] == [prompt] * m
            sits_out = all(reward == 0.0 for _, reward in group)
            assert sits_out or all(abs(reward - world.reward(*draw)) < 1e-5 for draw, reward in group)
        return Played(task.drawn, centred(groups))

    check(play, recipes=[recipe], worlds=full(recipe))


def test_openrlhf_prompts_short_of_scorable_rollouts_do_not_train(openrlhf):
    task = Task(world(4, lambda p, d: None if p == 1 and d > 2 else hashed(p, d)))
    generator, samples = openrlhf_step(openrlhf, winnow.recipe("pods", n=8, m=4), task, 4)
    groups = openrlhf_groups(samples, 4)
    assert [draw[0] for group in groups for draw, _ in group] == [p for p in range(4) for _ in range(4)]
    assert {reward for _, reward in groups[1]} == {0.0}
    for group in (groups[0], *groups[2:]):
        assert all(abs(reward - hashed(*draw)) < 1e-6 for draw, reward in group)
    assert all("reward" in row.info and row.scores is not None for row in samples), "rows have to merge into one batch"
    assert (generator.ledger.rollouts, generator.ledger.unscorable) == (32, 5)


def test_openrlhf_refuses_what_it_cannot_do(openrlhf):
    with pytest.raises(ConfigError, match="no rollout came with a reward"):
        openrlhf_step(openrlhf, winnow.recipe("pods", n=8, m=4), Task(world(2, lambda p, d: None)), 4)
    generator, _ = openrlhf_step(openrlhf, winnow.recipe("pods", n=8, m=4), Task(world(2, hashed)), 4)
    with pytest.raises(ConfigError, match="dynamic filtering"):
        generator._generate_vllm(iter(loader(2)), 2, True)


def test_openrlhf_evaluation_is_the_hosts_own(openrlhf):
    task = Task(world(2, hashed))
    generator, _ = openrlhf_step(openrlhf, winnow.recipe("pods", n=8, m=4), task, 4)
    generator._eval_dataloader_iter = iter(loader(2))
    rows, _, _ = generator._generate_vllm(generator._eval_dataloader_iter, 2, False, n_samples_per_prompt=3)
    assert len(rows) == 6


# ------------------------------------------------------------------------------------------------------------- SkyRL


class Inner:
    """A generator as SkyRL's own: rows in, as many rows out, in the same order."""

    def __init__(self, task, by_token=False):
        self.task, self.by_token, self.seen = task, by_token, []

    def reward(self, tokens, reward):
        return [0.0] * (len(tokens) - 1) + [reward] if self.by_token and reward is not None else reward

    async def generate(self, input_batch):
        drawn = [self.task.draw(int(prompt[0]["content"])) for prompt in input_batch["prompts"]]
        for extras in input_batch["env_extras"]:
            assert not extras, "an environment got the extras of another"
            extras["used"] = True
        self.seen += [(t.instance_id, t.repetition_id) for t in input_batch["trajectory_ids"]]
        return {
            "prompt_token_ids": [[99] for _ in drawn],
            "response_ids": [tokens for tokens, _ in drawn],
            "rewards": [self.reward(*row) for row in drawn],
            "loss_masks": [[1] * len(tokens) for tokens, _ in drawn],
            "stop_reasons": ["stop" for _ in drawn],
            "rollout_metrics": {"generate/custom": 1.0},
            "rollout_logprobs": None,
        }


def skyrl_input(host, prompts, m, phase="train"):
    rows = [prompt for prompt in range(prompts) for _ in range(m)]
    return {
        "prompts": [[{"role": "user", "content": str(prompt)}] for prompt in rows],
        "env_classes": ["made up" for _ in rows],
        "env_extras": [{} for _ in rows],
        "sampling_params": {"temperature": 1.0},
        "trajectory_ids": [host.TrajectoryID(f"u{prompt}", i % m) for i, prompt in enumerate(rows)],
        "batch_metadata": SimpleNamespace(global_step=1, training_phase=phase),
    }


def skyrl_step(host, recipe, task, m):
    generator = host.WinnowGenerator(Inner(task), recipe, m)
    return generator, asyncio.run(generator.generate(skyrl_input(host, task.world.prompts, m)))


@pytest.fixture
def skyrl(monkeypatch):
    stand_ins.install(monkeypatch, stand_ins.skyrl())
    return stand_ins.adapter("skyrl_winnow", monkeypatch)


@pytest.mark.parametrize(("recipe", "m"), RECTANGULAR)
def test_skyrl_trains_what_the_recipe_trains(skyrl, recipe, m):
    def play(rule, world, seed):
        task = Task(world)
        generator, output = skyrl_step(skyrl, rule, task, m)
        assert len(set(generator.inner.seen)) == len(generator.inner.seen), "a trajectory id was used twice"
        return Played(task.drawn, centred(skyrl_groups(output, m, world)))

    check(play, recipes=[recipe], worlds=full(recipe))


def skyrl_groups(output, m, world):
    rows = [(which(ids), reward) for ids, reward in zip(output["response_ids"], output["rewards"], strict=True)]
    groups = [rows[i : i + m] for i in range(0, len(rows), m)]
    for prompt, group in enumerate(groups):
        masks = output["loss_masks"][prompt * m : (prompt + 1) * m]
        assert [draw[0] for draw, _ in group] == [prompt] * m
        for (draw, reward), mask in zip(group, masks, strict=True):
            assert len(mask) == world.length(*draw)
            assert reward == world.reward(*draw) if any(mask) else reward == 0.0
    return groups


def test_skyrl_prompts_short_of_scorable_rollouts_are_masked(skyrl):
    made = world(4, lambda p, d: None if p == 1 and d > 2 else hashed(p, d))
    generator, output = skyrl_step(skyrl, winnow.recipe("pods", n=8, m=4), Task(made), 4)
    skyrl_groups(output, 4, made)
    assert [sum(map(sum, output["loss_masks"][i : i + 4])) > 0 for i in range(0, 16, 4)] == [True, False, True, True]
    assert [t.instance_id for t in output["trajectory_ids"]] == [f"u{p}" for p in range(4) for _ in range(4)]
    assert output["rollout_metrics"]["winnow/unscorable"] == generator.ledger.unscorable == 5


def test_skyrl_takes_rewards_by_token(skyrl):
    made = world(4, lambda p, d: None if p == 1 and d > 2 else hashed(p, d))
    generator = skyrl.WinnowGenerator(Inner(Task(made), by_token=True), winnow.recipe("pods", n=8, m=4), 4)
    output = asyncio.run(generator.generate(skyrl_input(skyrl, 4, 4)))
    assert all(len(reward) == len(ids) for reward, ids in zip(output["rewards"], output["response_ids"], strict=True))
    plain = {**output, "rewards": [sum(reward) for reward in output["rewards"]]}
    assert plain["rewards"][4:8] == [0.0] * 4
    skyrl_groups(plain, 4, made)


def test_skyrl_wraps_the_generator_and_leaves_evaluation_alone(skyrl):
    inner = Inner(Task(world(2, hashed)))
    cfg = SimpleNamespace(inner=inner, generator=SimpleNamespace(n_samples_per_prompt=4))
    generator = skyrl.WinnowExp().get_generator(cfg, None, None)
    assert (generator.inner, generator.m) == (inner, 4)
    output = asyncio.run(generator.generate(skyrl_input(skyrl, 2, 3, "eval")))
    assert [which(ids) for ids in output["response_ids"]] == [(p, d) for p in range(2) for d in range(3)]


# ------------------------------------------------------------------------------------------------------------- slime


class Source:
    """slime's data source: every prompt comes n_samples_per_prompt times."""

    def __init__(self, args, make=Sample):
        self.args, self.make, self.index = args, make, itertools.count()

    def get_samples(self, count):
        n = self.args.n_samples_per_prompt
        return [[self.make(prompt=str(prompt), index=next(self.index)) for _ in range(n)] for prompt in range(count)]


def slime_args(task, prompts, n):
    async def draw(args, sample, sampling_params):
        await asyncio.sleep(0)
        sample.tokens, sample.reward = task.draw(int(sample.prompt))
        sample.response_length = len(sample.tokens)
        return sample

    return SimpleNamespace(
        rollout_batch_size=prompts, n_samples_per_prompt=n, group_rm=False, partial_rollout=False, draw=draw
    )


def slime_play(host, make_args=slime_args, make=Sample):
    def play(rule, world, seed):
        task, host.RECIPE = Task(world), rule
        n = 4 if rule.selection.name != "all_rows" else rule.allocation.n
        args = make_args(task, world.prompts // rule.pool, n)
        output = host.generate_rollout(args, seed, Source(args, make))
        samples = [sample for group in output.samples for sample in group]
        assert len(samples) == args.rollout_batch_size * n
        assert len({sample.index for sample in samples}) == len(samples)
        raw, advantages = host.rewards_are_advantages(args, samples)
        grown = len(samples) / max(1, sum(not sample.remove_sample for sample in samples))
        trained = {}
        for sample, reward, advantage in zip(samples, raw, advantages, strict=True):
            draw = which(sample.tokens)
            assert draw[0] == int(sample.prompt)
            assert reward == (world.reward(*draw) or 0.0)
            assert advantage == 0.0 or not sample.remove_sample
            if not sample.remove_sample:
                trained[draw] = advantage / grown
        return Played(task.drawn, trained)

    return play


SLIME = [
    *("grpo", "dr-grpo", "rloo", "vigor", "dapo"),
    winnow.recipe("vigor", weight="prompt"),
    winnow.recipe("pods", n=8, m=4),
    winnow.recipe("vigor+pods", m=4),
]


@pytest.fixture
def slime(monkeypatch):
    stand_ins.install(monkeypatch, stand_ins.slime())
    return stand_ins.adapter("slime_winnow", monkeypatch)


def test_slime_trains_what_the_recipe_trains(slime):
    check(slime_play(slime), recipes=SLIME, worlds=[w for w in worlds() if w.budget.tokens is None])


def test_slime_refuses_a_batch_of_another_size(slime):
    task = Task(world(3, hashed))
    slime.RECIPE = winnow.recipe("grpo", n=8)
    args = slime_args(task, 3, 4)
    with pytest.raises(ConfigError, match="keeps 24, slime trains on 12"):
        slime.generate_rollout(args, 0, Source(args))
    args.group_rm = True
    with pytest.raises(ConfigError, match="--group-rm"):
        slime.generate_rollout(args, 0, Source(args))


def test_slime_evaluation_is_the_hosts_own(slime):
    assert slime.generate_rollout(SimpleNamespace(), 0, None, evaluation=True) == "evaluated"


# ---------------------------------------------------------------------------------------------------------- prime-rl


def stand_in_trace(tokens, reward, ok=True):
    node = SimpleNamespace(token_ids=[99, *tokens], mask=[False] + [True] * len(tokens), advantages=None)
    return SimpleNamespace(
        id=str(tokens[0]),
        nodes=[node],
        rewards={"made up": None if reward is None else SimpleNamespace(value=reward)},
        reward=reward or 0.0,
        has_error=not ok,
        num_output_tokens=len(tokens),
        agent=SimpleNamespace(trainable=True),
    )


def prime_rl_play(host, make_trace=stand_in_trace):
    def play(rule, world, seed):
        task, trained = Task(world), {}
        algorithm = host.install(rule, seed)(SimpleNamespace(length_penalty=None), None)
        for prompt in range(world.prompts):
            traces = [make_trace(*task.draw(prompt)) for _ in range(rule.allocation.n)]
            asyncio.run(algorithm.score_group([SimpleNamespace(traces=[trace]) for trace in traces]))
            for number, trace in enumerate(traces):
                (node,) = (node for node in trace.nodes if any(node.mask))
                assert len(node.advantages) == world.length(prompt, number)
                trained[prompt, number] = node.advantages[0]
        assert algorithm.ledger.rollouts == len(task.drawn)
        return Played(task.drawn, {draw: value for draw, value in trained.items() if value})

    return play


PRIME_RL = ["grpo", "dr-grpo", "rloo", winnow.recipe("pods", n=8, m=4)]


@pytest.fixture
def prime_rl(monkeypatch):
    stand_ins.install(monkeypatch, stand_ins.prime_rl())
    return stand_ins.adapter("prime_rl_winnow", monkeypatch)


def test_prime_rl_trains_what_the_recipe_trains(prime_rl):
    check(prime_rl_play(prime_rl), recipes=PRIME_RL, worlds=[w for w in worlds() if w.budget.tokens is None])


def test_prime_rl_unselected_and_unscored_traces_get_zero_and_failed_ones_nothing(prime_rl):
    algorithm = prime_rl.install(winnow.recipe("pods", n=4, m=2))(SimpleNamespace(), None)
    traces = [stand_in_trace([i], r, ok=i != 3) for i, r in enumerate([0.0, 0.4, None, 9.0, 1.0])]
    asyncio.run(algorithm.score_group([SimpleNamespace(traces=[trace]) for trace in traces]))
    found = [trace.nodes[0].advantages and trace.nodes[0].advantages[0] for trace in traces]
    assert found[0] < 0 < found[4]
    assert found[1:4] == [0.0, 0.0, None]
    assert (algorithm.ledger.rollouts, algorithm.ledger.unscorable) == (5, 2)


def test_prime_rl_refuses_recipes_that_allocate(prime_rl):
    with pytest.raises(ConfigError, match="uniform groups"):
        prime_rl.install(winnow.recipe("vigor"))(SimpleNamespace(), None)


# ------------------------------------------------------------------------------------------------------------ tinker


class Clients:
    """Both clients of a tinker service: futures answer at once."""

    def __init__(self, task, sequence=SimpleNamespace):
        self.task, self.sequence, self.data, self.calls = task, sequence, [], []

    def sample(self, prompt, num_samples, sampling_params):
        drawn = [self.task.draw(prompt.to_ints()[-1])[0] for _ in range(num_samples)]
        sequences = [self.sequence(tokens=t, logprobs=[-0.5] * len(t)) for t in drawn]
        return SimpleNamespace(result=lambda: SimpleNamespace(sequences=sequences))

    def forward_backward(self, data, loss_fn, loss_fn_config=None):
        self.calls.append(loss_fn)
        self.data += data
        return SimpleNamespace(result=lambda: None)

    def optim_step(self, optim_params=None, *, adam_params=None):
        self.calls.append("step")
        return SimpleNamespace(result=lambda: None)


def tinker_play(host, sequence=SimpleNamespace):
    def play(rule, world, seed):
        task = Task(world)
        clients = Clients(task, sequence)
        prompts = [host.tinker.ModelInput.from_ints([99, 98, prompt]) for prompt in range(world.prompts)]
        score = lambda index, tokens: world.reward(index, which(tokens)[1])
        host.train_step(rule, clients, clients, prompts, score, None, None, seed, world.budget)
        assert clients.calls == (["importance_sampling", "step"] if clients.data else [])
        trained = {}
        for datum in clients.data:
            columns = {name: list(getattr(v, "data", v)) for name, v in datum.loss_fn_inputs.items()}
            targets, worth = columns["target_tokens"], columns["advantages"]
            draw = which(targets[2:])
            assert list(datum.model_input.to_ints()) == [99, 98, draw[0], *targets[2:-1]]
            assert len(targets) == len(worth) == len(columns["logprobs"]) == 2 + world.length(*draw)
            assert not any(worth[:2]) and len(set(worth[2:])) == 1
            trained[draw] = float(worth[2])
        return Played(task.drawn, trained)

    return play


@pytest.fixture
def tinker(monkeypatch):
    stand_ins.install(monkeypatch, stand_ins.tinker())
    return stand_ins.adapter("tinker_winnow", monkeypatch)


def test_tinker_trains_what_the_recipe_trains(tinker):
    check(tinker_play(tinker), recipes=[*RECIPES, winnow.recipe("vigor", weight="prompt")])
