"""The adapters of examples/frameworks on the frameworks themselves, each where it can be imported; engines stand in."""

import asyncio
import importlib
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from tests.examples import stand_ins
from tests.examples import test_frameworks as plain
from tests.examples.stand_ins import SIGNATURES, Task, response, which

import winnow
from winnow.advantage import Advantage
from winnow.testing import Played, check, worlds

ENGINES = ("vllm", "flash_attn", "deepspeed", "sglang", "sglang_router")


class Absent(ModuleType):
    """An engine that is not there: any name in it is an empty class, enough for imports and annotations."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *args, **kwargs: None})


class AbsentEngines:
    """Finds modules of `ENGINES` after everything that is installed."""

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in ENGINES else None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


@pytest.fixture(scope="module", autouse=True)
def engines():
    finder = AbsentEngines()
    sys.meta_path.append(finder)
    yield
    sys.meta_path.remove(finder)
    for name in [name for name in sys.modules if name.split(".")[0] in ENGINES]:
        if isinstance(sys.modules[name], Absent):
            del sys.modules[name]


def installed(name):
    """Import a module of a framework; skip where the framework is absent, fail where it is there and does not load."""
    pytest.importorskip(name.split(".")[0], exc_type=ImportError)
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not part of what is installed")
    return importlib.import_module(name)


@pytest.mark.parametrize("seam", SIGNATURES)
def test_seams_have_the_signatures_the_adapters_expect(seam):
    name, path = seam.split(":")
    found = installed(name)
    for part in path.split("."):
        found = getattr(found, part)
    expected, actual = SIGNATURES[seam], stand_ins.parameters(found)
    assert actual == expected or (actual + ",").startswith(expected + ",")
    for further in actual[len(expected) :].lstrip(", ").split(", ") if actual != expected else []:
        assert "=" in further, f"{seam} needs {further}"


# ---------------------------------------------------------------------------------------------------------- OpenRLHF


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    installed("openrlhf.trainer.ppo_trainer")
    paths = {"PYTHONPATH": str(stand_ins.FOLDER.parents[1])}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": paths})
    yield ray
    ray.shutdown()


@pytest.fixture(scope="module")
def engine(ray):
    @ray.remote
    class Engine:
        def play(self, world):
            self.task = Task(world)

        async def generate_responses(
            self, prompt, label, sampling_params, max_length, hf_tokenizer, num_samples=1, images=None
        ):
            await asyncio.sleep(0.001 * (int(prompt[1:]) % 3))
            return [response(int(prompt[1:]), *self.task.draw(int(prompt[1:]))) for _ in range(num_samples)]

        def get_num_unfinished_requests(self):
            return 0

        def drawn(self):
            return self.task.drawn

    return Engine.remote()


def openrlhf_advantages(samples, args):
    """Run OpenRLHF's own batching and advantages over rollouts, at KL 0; return draw -> advantage."""
    maker_class = installed("openrlhf.trainer.ppo_utils.experience_maker").RemoteExperienceMaker
    maker = object.__new__(maker_class)
    maker.strategy, maker.args = SimpleNamespace(args=args), args
    maker.advantage_estimator, maker.kl_ctl = args.algo.advantage.estimator, SimpleNamespace(value=0.0)
    maker.tokenizer = SimpleNamespace(pad_token_id=0)
    batches = maker.split_rollout_samples(samples)
    for batch in batches:
        batch.kl = torch.zeros(batch.action_mask.shape)
    found = {}
    for batch in maker.compute_advantages_and_returns(batches):
        for tokens, mask, values in zip(batch.sequences, batch.action_mask, batch.advantages, strict=True):
            last = int(mask.nonzero().max())
            found[which(tokens[1:])] = float(values[last])
    return found


GRADED = [w for w in worlds(6) if w.name == "graded"]


def openrlhf_play(ray, engine, host, m, estimator):
    def play(rule, world, seed):
        ray.get(engine.play.remote(world))
        args = plain.openrlhf_settings(world.prompts, m, estimator)
        args.rollout.micro_batch_size, args.train = 4, SimpleNamespace(dynamic_batch_enable=False)
        args.reward = SimpleNamespace(clip_range=None, overlong_buffer_len=None, stop_properly_penalty_coef=None)
        parts = SimpleNamespace(args=args), plain.loader(world.prompts), None, None, [engine]
        generator = host.WinnowSamplesGenerator(*parts, recipe=rule, seed=seed)
        samples, _, _, exhausted = generator.generate_samples(max_len=2048)
        assert len(samples) == world.prompts * m and not exhausted
        return Played(ray.get(engine.drawn.remote()), openrlhf_advantages(samples, args))

    return play


@pytest.mark.parametrize(("recipe", "m"), plain.RECTANGULAR)
def test_openrlhf_itself_trains_what_the_recipe_trains(ray, engine, monkeypatch, recipe, m):
    host = stand_ins.adapter("openrlhf_winnow", monkeypatch)
    play = openrlhf_play(ray, engine, host, m, "dr_grpo")
    check(play, recipes=[recipe], worlds=plain.full(recipe), tolerance=1e-5)


@pytest.mark.parametrize(("estimator", "advantage"), [("group_norm", Advantage("grpo", eps=1e-9)), ("rloo", "rloo")])
def test_openrlhf_estimators_are_these_advantages(ray, engine, monkeypatch, estimator, advantage):
    host = stand_ins.adapter("openrlhf_winnow", monkeypatch)
    recipe = winnow.recipe("pods", n=8, m=4, advantage=advantage)
    check(openrlhf_play(ray, engine, host, 4, estimator), recipes=[recipe], worlds=GRADED, tolerance=1e-4)


def test_openrlhf_rows_of_prompts_that_sit_out_merge_into_the_batch(ray, engine, monkeypatch):
    host = stand_ins.adapter("openrlhf_winnow", monkeypatch)
    world = plain.world(4, lambda p, d: None if p == 1 and d > 2 else plain.hashed(p, d))
    args = plain.openrlhf_settings(4, 4)
    args.rollout.micro_batch_size, args.train = 3, SimpleNamespace(dynamic_batch_enable=False)
    args.reward = SimpleNamespace(clip_range=None, overlong_buffer_len=None, stop_properly_penalty_coef=None)
    ray.get(engine.play.remote(world))
    parts = SimpleNamespace(args=args), plain.loader(4), None, None, [engine]
    generator = host.WinnowSamplesGenerator(*parts, recipe=winnow.recipe("pods", n=8, m=4))
    samples, *_ = generator.generate_samples(max_len=2048)
    found = openrlhf_advantages(samples, args)
    assert all(value == 0.0 for draw, value in found.items() if draw[0] == 1)
    assert sum(value != 0.0 for value in found.values()) == 12


def test_openrlhf_trainer_is_replaced_by_one_that_samples_with_the_recipe(ray, monkeypatch):
    host = stand_ins.adapter("openrlhf_winnow", monkeypatch)
    trainer = installed("openrlhf.trainer.ppo_trainer")
    base = trainer.PPOTrainer.__ray_metadata__.modified_class
    monkeypatch.setattr(trainer, "PPOTrainer", trainer.PPOTrainer)

    def make(self, strategy):
        self.samples_generator = trainer.SamplesGenerator(strategy, "prompts", "eval", "tokenizer", ["engine"])

    monkeypatch.setattr(base, "__init__", make)
    recipe = winnow.recipe("pods")
    made = host.install(recipe, seed=3)(SimpleNamespace(args="args"))
    assert isinstance(made, base) and isinstance(made.samples_generator, host.WinnowSamplesGenerator)
    assert vars(made.samples_generator)["recipe"] is recipe
    assert (made.samples_generator.args, made.samples_generator.vllm_engines) == ("args", ["engine"])
    assert issubclass(trainer.PPOTrainer.__ray_metadata__.modified_class, base)


# ------------------------------------------------------------------------------------------------------------- SkyRL


def skyrl_play(host, m, estimator="grpo", by_std=False):
    trainer = installed("skyrl.train.trainer").RayPPOTrainer
    utils, preprocess = installed("skyrl.train.generators.utils"), installed("skyrl.train.dataset.preprocess")
    advantages = installed("skyrl.backends.skyrl_train.utils.ppo_utils").compute_advantages_and_returns

    def play(rule, world, seed):
        task = Task(world)
        generator = SimpleNamespace(n_samples_per_prompt=m, step_wise_trajectories=False, merge_stepwise_output=False)
        algorithm = SimpleNamespace(zero_variance_filter=False)
        cfg = SimpleNamespace(generator=generator, trainer=SimpleNamespace(algorithm=algorithm))
        wrapped = host.WinnowGenerator(plain.Inner(task), rule, m)
        self = SimpleNamespace(cfg=cfg, generator=wrapped, all_metrics={})
        prompts = [
            {"prompt": [{"role": "user", "content": str(p)}], "env_class": "made up", "env_extras": {}, "uid": f"u{p}"}
            for p in range(world.prompts)
        ]
        batch, uids = utils.prepare_generator_input(prompts, m, {}, "made up", "train", 1)
        output = asyncio.run(trainer.generate(self, batch))
        assert self.all_metrics["winnow/rollouts"] == len(task.drawn)
        plain.skyrl_groups(output, m, world)
        output, uids = trainer.postprocess_generator_output(self, output, uids)
        bounds = preprocess.compute_prompt_mini_batch_boundaries(uids, 1, world.prompts, False, m)
        assert bounds == [(m * p, m * p + m) for p in range(world.prompts)]
        totals = torch.tensor([sum(rewards) for rewards in output["rewards"]])[:, None]
        live = torch.tensor([[float(any(mask))] for mask in output["loss_masks"]])
        values, _ = advantages(
            token_level_rewards=totals,
            response_mask=live,
            index=np.array(uids),
            adv_estimator=estimator,
            config=None,
            grpo_norm_by_std=by_std,
        )
        return Played(task.drawn, {which(ids): float(v) for ids, v in zip(output["response_ids"], values, strict=True)})

    return play


@pytest.mark.parametrize(("recipe", "m"), plain.RECTANGULAR)
def test_skyrl_itself_trains_what_the_recipe_trains(monkeypatch, recipe, m):
    installed("skyrl.train.trainer")
    play = skyrl_play(stand_ins.adapter("skyrl_winnow", monkeypatch), m)
    check(play, recipes=[recipe], worlds=plain.full(recipe), tolerance=1e-5)


@pytest.mark.parametrize(("estimator", "advantage"), [("grpo", Advantage("grpo", eps=1e-6)), ("rloo", "rloo")])
def test_skyrl_estimators_are_these_advantages(monkeypatch, estimator, advantage):
    installed("skyrl.train.trainer")
    play = skyrl_play(stand_ins.adapter("skyrl_winnow", monkeypatch), 4, estimator, by_std=True)
    check(play, recipes=[winnow.recipe("pods", n=8, m=4, advantage=advantage)], worlds=GRADED, tolerance=1e-4)


# ------------------------------------------------------------------------------------------------------------- slime


async def slime_draw(args, sample, sampling_params):
    """slime's own hook for a custom engine; the reward comes with the completion, as its docs allow."""
    await asyncio.sleep(0)
    tokens, sample.reward = args.task.draw(int(sample.prompt))
    sample.append_response_tokens(args, tokens=tokens, log_probs=[-0.5] * len(tokens))
    sample.status = type(sample).Status.COMPLETED
    return sample


async def slime_abstains(args, sample, **kwargs):
    """slime's reward hook, asked only where the draw came without a reward."""
    return None


def slime_args(task, prompts, n):
    here = "tests.examples.test_frameworks_installed"
    return SimpleNamespace(
        **dict.fromkeys(("rollout_stop", "rollout_stop_token_ids", "sglang_dp_size", "reward_key")),
        **dict.fromkeys(("group_rm", "partial_rollout", "ci_test"), False),
        **dict.fromkeys(("rollout_temperature", "rollout_top_p"), 1.0),
        **dict.fromkeys(("rollout_num_gpus", "rollout_num_gpus_per_engine", "sglang_server_concurrency"), 1),
        rollout_top_k=-1,
        rollout_max_response_len=16,
        rollout_skip_special_tokens=False,
        hf_checkpoint=None,
        rollout_batch_size=prompts,
        n_samples_per_prompt=n,
        custom_generate_function_path=f"{here}.slime_draw",
        custom_rm_path=f"{here}.slime_abstains",
        rollout_sample_hook_path=None,
        rollout_sample_hooks_path=None,
        advantage_estimator="grpo",
        rewards_normalization=True,
        grpo_std_normalization=True,
        task=task,
    )


@pytest.fixture
def slime(monkeypatch):
    rollout = installed("slime.rollout.sglang_rollout")
    monkeypatch.setattr(rollout, "load_tokenizer", lambda *args, **kwargs: None)
    monkeypatch.setattr(rollout, "load_processor", lambda *args, **kwargs: None)
    return stand_ins.adapter("slime_winnow", monkeypatch)


def test_slime_itself_trains_what_the_recipe_trains(slime):
    sample = installed("slime.utils.types").Sample
    play = plain.slime_play(slime, slime_args, sample)
    check(play, recipes=plain.SLIME, worlds=[w for w in worlds() if w.budget.tokens is None])


def test_slime_takes_the_advantages_and_its_own_rule_would_mix_the_groups(slime):
    manager = installed("slime.ray.rollout").RolloutManager.__ray_metadata__.modified_class
    schedule = installed("slime.utils.dp_schedule").build_dp_schedule
    slime.RECIPE = winnow.recipe("vigor", n=8, advantage="centred")
    made = plain.world(8, lambda p, d: float(p) + 0.5 * (d % 2))
    args = slime_args(Task(made), 8, 8)
    output = slime.generate_rollout(args, 0, plain.Source(args, installed("slime.utils.types").Sample))
    assert len({len(group) for group in output.samples}) > 1, "no ragged group to speak of"
    installed("slime.observability.rollout_data_utils").validate_rollout_id_annotated(output.samples)
    samples = [sample for group in output.samples for sample in group]
    self = SimpleNamespace(args=args, custom_reward_post_process_func=slime.rewards_are_advantages)
    self.custom_convert_samples_to_train_data_func = None
    self._post_process_rewards = lambda rows: manager._post_process_rewards(self, rows)
    data = manager._convert_samples_to_train_data(self, samples)
    expected = [0.5 * (which(s.tokens)[1] % 2) for s in samples]
    for prompt in range(8):
        rows = [i for i, s in enumerate(samples) if int(s.prompt) == prompt]
        middle = np.mean([expected[i] for i in rows])
        assert np.allclose([data["rewards"][i] for i in rows], [expected[i] - middle for i in rows])
    assert all(sum(mask) == len(sample.tokens) for mask, sample in zip(data["loss_masks"], samples, strict=True))
    lay_out = {"dp_size": 2, "cp_size": 1, "vpp_size": 1, "microbatch_group_size_per_vp_stage": 1}
    sizes = SimpleNamespace(
        use_dynamic_batch_size=False, micro_batch_size=4, balance_by_flops=False, balance_data=False
    )
    *_, steps = schedule(
        sizes, lay_out, [len(t) for t in data["tokens"]], global_batch_size=32, rollout_indices=data["rollout_ids"]
    )
    assert steps == [32, 32]
    self.custom_reward_post_process_func = None
    _, own = manager._post_process_rewards(self, samples)
    means = [np.mean([v for v, s in zip(own, samples, strict=True) if s.prompt == str(p)]) for p in range(8)]
    assert max(map(abs, means)) > 0.5, (
        "rows of n_samples_per_prompt, cut across groups, give groups a mean other than 0"
    )


# ---------------------------------------------------------------------------------------------------------- prime-rl


def real_trace(tokens, reward, ok=True):
    vf = installed("verifiers.v1")
    made = {
        "message": {"role": "assistant", "content": ""},
        "sampled": True,
        "token_ids": tokens,
        "mask": [True] * len(tokens),
        "logprobs": [-0.5] * len(tokens),
    }
    asked = {"message": {"role": "user", "content": ""}, "token_ids": [99], "mask": [False]}
    return vf.Trace(
        task=vf.TraceTask(type="made up", data=vf.TaskData(idx=0), key="k"),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        nodes=[vf.MessageNode(**asked), vf.MessageNode(**made, parent=0)],
        rewards={"made up": None if reward is None else vf.Reward(score=reward)},
        ok=ok,
    )


def test_prime_rl_itself_trains_what_the_recipe_trains(monkeypatch):
    algo = installed("prime_rl.orchestrator.algo")
    monkeypatch.setattr(algo, "ALGORITHM_CLASSES", dict(algo.ALGORITHM_CLASSES))
    host = stand_ins.adapter("prime_rl_winnow", monkeypatch)
    play = plain.prime_rl_play(host, real_trace)
    check(play, recipes=plain.PRIME_RL, worlds=[w for w in worlds() if w.budget.tokens is None])


def test_prime_rl_prunes_what_was_not_selected_after_counting_it(monkeypatch):
    vf, sinks = installed("verifiers.v1"), installed("prime_rl.orchestrator.train_sink")
    algo, types = installed("prime_rl.orchestrator.algo"), installed("prime_rl.orchestrator.types")
    monkeypatch.setattr(algo, "ALGORITHM_CLASSES", dict(algo.ALGORITHM_CLASSES))
    host = stand_ins.adapter("prime_rl_winnow", monkeypatch)
    host.install(winnow.recipe("pods", n=8, m=4))
    if not hasattr(installed("verifiers.v1").Branch, "multi_modal_data"):
        pytest.skip("this verifiers is newer than the one prime-rl reads traces of")
    config = installed("prime_rl.configs.algorithm").GRPOAlgoConfig()
    algorithm = algo.build_algorithm(config, None)
    assert isinstance(algorithm, host.WinnowAlgorithm)
    env = SimpleNamespace(algorithm=algorithm, config=SimpleNamespace(group_size=8), sampling_args={"temperature": 1.0})
    settings = SimpleNamespace(train=SimpleNamespace(filter_zero_advantages=True), max_off_policy_steps=8, seq_len=64)
    envs = SimpleNamespace(get=lambda name: env)
    sink = sinks.TrainSink(
        settings,
        tokenizer=None,
        train_envs=envs,
        mm_token_type_ids_mapping=None,
        progress=types.Progress(),
        batch_size=16,
        token_batch_size=None,
    )

    async def play():
        shipped = []
        for group in range(2):
            for number in range(8):
                trace = real_trace([1000 * group + number, 7, 7], plain.hashed(group, number))
                work = vf.TrainWorkInfo(step=1, policy=vf.PolicySpan(start=0, end=0))
                episode = vf.Episode(env=vf.EnvInfo(id="e", name="e"), task=trace.task, ok=True, traces=[trace])
                episode.group = vf.GroupInfo(id=str(group))
                episode.record_run(vf.TrainRunInfo(id="r", name="r", work=work))
                shipped.append(await sink.add(episode))
        return shipped

    *waiting, batch = asyncio.run(play())
    assert waiting == [None] * 15 and batch is not None, "16 traces make a batch, though only 8 of them train"
    found = {which(sample.token_ids[1:]): sample.advantages[1] for sample in batch.samples}
    step = winnow.recipe("pods", n=8, m=4).begin(2, seed=0)
    step.ask()
    step.tell([g for g in range(2) for _ in range(8)], [plain.hashed(g, d) for g in range(2) for d in range(8)])
    best = step.finish()
    expected = {divmod(row, 8): value for row, value in zip(best.rows.tolist(), best.advantages.tolist(), strict=True)}
    assert found == pytest.approx(expected)


# ------------------------------------------------------------------------------------------------------------ tinker


def test_tinker_itself_trains_what_the_recipe_trains(monkeypatch):
    types = installed("tinker.types")
    host = stand_ins.adapter("tinker_winnow", monkeypatch)

    def sequence(tokens, logprobs):
        parts = np.array(tokens, np.int32), np.array(logprobs, np.float32)
        return types.SampledSequence(stop_reason="stop", sequence_id="s", tokens_np=parts[0], logprobs_np=parts[1])

    check(plain.tinker_play(host, sequence), tolerance=1e-5)
