"""The smallest modules that carry the signatures the adapters of `examples/frameworks` build on.

Each table below was copied, name by name, from the version its page names; `test_frameworks.py` holds it against the
framework itself where that is installed.
"""

import asyncio
import importlib.util
import inspect
import math
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch

FOLDER = Path(__file__).parents[2] / "examples/frameworks"

SIGNATURES = {
    "openrlhf.trainer.ppo_utils.samples_generator:SamplesGenerator.__init__": (
        "self, strategy, prompts_dataloader, eval_dataloader, tokenizer, vllm_engines"
    ),
    "openrlhf.trainer.ppo_utils.samples_generator:SamplesGenerator._generate_vllm": (
        "self, dataloader_iter, num_prompts, dynamic_filtering, **generate_kwargs"
    ),
    "openrlhf.trainer.ppo_utils.samples_generator:SamplesGenerator._dispatch_prompts_to_vllm": (
        "self, prompts, labels, *, images=None, **generate_kwargs"
    ),
    "openrlhf.trainer.ppo_utils.samples_generator:SamplesGenerator._process_response_into_experience": (
        "self, response, **generate_kwargs"
    ),
    "openrlhf.trainer.ppo_utils.samples_generator:_collect_prompt_batch": "dataloader_iter, num_prompts",
    "skyrl.train.generators.base:GeneratorInterface.generate": "self, input_batch",
    "skyrl.train.generators.base:TrajectoryID": "instance_id, repetition_id",
    "skyrl.train.generators.utils:concatenate_generator_outputs": "generator_outputs, step_wise=False",
    "skyrl.train.entrypoints.main_base:BasePPOExp.get_generator": "self, cfg, tokenizer, inference_engine_client",
    "slime.rollout.sglang_rollout:generate_rollout": "args, rollout_id, data_source, evaluation=False",
    "slime.rollout.sglang_rollout:generate_and_rm": "args, sample, sampling_params, evaluation=False",
    "slime.rollout.base_types:RolloutFnTrainOutput": "samples, metrics=None",
    "prime_rl.orchestrator.algo.base:Algorithm.__init__": "self, config, policy_pool",
    "prime_rl.orchestrator.algo.base:Algorithm.score_group": "self, episodes",
    "prime_rl.orchestrator.algo.base:iter_trainable_traces": "episodes",
    "prime_rl.orchestrator.algo.routing:assign_advantages": "trace, values",
    "tinker:SamplingClient.sample": "self, prompt, num_samples, sampling_params",
    "tinker:TrainingClient.forward_backward": "self, data, loss_fn, loss_fn_config=None",
    "tinker:TrainingClient.optim_step": "self, optim_params=None, *, adam_params=None",
}
"""Seam to parameters, annotations left out. A seam may have further parameters if they have defaults and come last."""


def module(**content):
    """Return an anonymous module with this content."""
    made = ModuleType("stand_in")
    vars(made).update(content)
    return made


def install(monkeypatch, modules):
    """Put modules, by dotted name, and their parents into `sys.modules` until the test ends."""
    for name in sorted({".".join(n.split(".")[: i + 1]) for n in modules for i in range(n.count(".") + 1)}):
        made = modules.get(name, ModuleType(name))
        made.__spec__, made.__path__ = ModuleSpec(name, None), []
        monkeypatch.setitem(sys.modules, name, made)
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, made)


def adapter(name, monkeypatch):
    """Import ``examples/frameworks/<name>.py`` afresh."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, made)
    spec.loader.exec_module(made)
    return made


def parameters(function):
    """Return a function's parameters without annotations, as they would be written."""
    signature = inspect.signature(function)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))[1:-1]


class Task:
    """A world as an engine: draws are numbered per prompt, and a completion's first token says which draw it is."""

    def __init__(self, world):
        self.world, self.drawn, self.count = world, [], {}

    def draw(self, prompt):
        """Return the tokens of the next completion of a prompt and its reward."""
        number = self.count.get(prompt, 0)
        self.count[prompt] = number + 1
        self.drawn.append((prompt, number))
        tokens = [1000 * prompt + number] + [7] * (self.world.length(prompt, number) - 1)
        return tokens, self.world.reward(prompt, number)


def which(tokens):
    """Return the prompt and the number of the draw that these are the tokens of."""
    return divmod(int(tokens[0]), 1000)


def response(prompt, tokens, reward):
    """Return what OpenRLHF's agent executor returns; the prompt is one token, scores stand in where rewards do."""
    return {
        "prompt": f"p{prompt}",
        "label": "",
        "observation_tokens": [99, *tokens],
        "action_ranges": [(1, 1 + len(tokens))],
        "rollout_log_probs": None,
        "reward": reward,
        "scores": reward,
        "truncated": False,
        "extra_logs": {} if reward is None else {"length": len(tokens)},
    }


def openrlhf():
    """Return stand-ins for the modules of OpenRLHF, and for Ray, which answers at once and out of order."""

    class SamplesGenerator:
        def __init__(self, strategy, prompts_dataloader, eval_dataloader, tokenizer, vllm_engines):
            self.strategy, self.args, self.vllm_engines = strategy, strategy.args, vllm_engines
            self.prompts_dataloader, self.eval_dataloader, self.tokenizer = (
                prompts_dataloader,
                eval_dataloader,
                tokenizer,
            )

        def generate_samples(self, **generate_kwargs):
            if not hasattr(self, "_dataloader_iter"):
                self._dataloader_iter = iter(self.prompts_dataloader)
            size = self.args.rollout.batch_size
            found, used, done = self._generate_vllm(self._dataloader_iter, size, False, **generate_kwargs)
            return found, None, used, done

        def _generate_vllm(self, dataloader_iter, num_prompts, dynamic_filtering, **generate_kwargs):
            prompts, labels, images, exhausted = _collect_prompt_batch(dataloader_iter, num_prompts)
            refs = self._dispatch_prompts_to_vllm(prompts, labels, images=images, **generate_kwargs)
            return [self._process_response_into_experience(r) for ref in refs for r in ref], len(prompts), exhausted

        def _dispatch_prompts_to_vllm(self, prompts, labels, *, images=None, **generate_kwargs):
            count = generate_kwargs.get("n_samples_per_prompt", self.args.rollout.n_samples_per_prompt)
            return [tuple(Reply(self.vllm_engines[0](int(prompt[1:]))) for _ in range(count)) for prompt in prompts]

        def _process_response_into_experience(self, response, **generate_kwargs):
            number = None if response["reward"] is None else torch.tensor([response["reward"]])
            return SimpleNamespace(
                sequences=torch.tensor([response["observation_tokens"]]),
                response_length=torch.tensor([len(response["observation_tokens"]) - 1]),
                rewards=number,
                scores=number,
                info={} if number is None else {"reward": number},
            )

    class Reply(dict):
        __hash__ = object.__hash__

    def _collect_prompt_batch(dataloader_iter, num_prompts):
        found = [next(dataloader_iter) for _ in range(num_prompts)]
        return [f[1][0] for f in found], [f[2][0] for f in found], [f[3][0] for f in found], False

    class PPOTrainer:
        pass

    trainer = SimpleNamespace(__ray_metadata__=SimpleNamespace(modified_class=PPOTrainer))
    return {
        "ray": module(wait=lambda refs, **_: (refs[-1:], refs[:-1]), get=list, remote=lambda cls: cls),
        "openrlhf.trainer.ppo_trainer": module(PPOTrainer=trainer),
        "openrlhf.trainer.ppo_utils.samples_generator": module(
            SamplesGenerator=SamplesGenerator, _collect_prompt_batch=_collect_prompt_batch
        ),
    }


def skyrl():
    """Return stand-ins for the modules of SkyRL."""

    class GeneratorInterface:
        async def generate(self, input_batch):
            raise NotImplementedError

    class BasePPOExp:
        def get_generator(self, cfg, tokenizer, inference_engine_client):
            return cfg.inner

    class TrajectoryID(SimpleNamespace):
        def __init__(self, instance_id, repetition_id):
            super().__init__(instance_id=instance_id, repetition_id=repetition_id)

    def concatenate_generator_outputs(generator_outputs, step_wise=False):
        first = generator_outputs[0]
        joined = {k: [x for o in generator_outputs for x in o[k]] for k, v in first.items() if isinstance(v, list)}
        numbers = [number for r in joined["rewards"] for number in (r if isinstance(r, list) else [r])]
        assert all(math.isfinite(number) for number in numbers)
        assert len({type(reward) for reward in joined["rewards"]}) == 1
        return {**first, **joined, "rollout_metrics": {}}

    return {
        "ray": module(remote=lambda **_: lambda function: function),
        "skyrl.train.config": module(SkyRLTrainConfig=None),
        "skyrl.train.entrypoints.main_base": module(BasePPOExp=BasePPOExp),
        "skyrl.train.generators.base": module(GeneratorInterface=GeneratorInterface, TrajectoryID=TrajectoryID),
        "skyrl.train.generators.utils": module(concatenate_generator_outputs=concatenate_generator_outputs),
        "skyrl.train.utils": module(validate_cfg=None),
        "skyrl.train.utils.utils": module(initialize_ray=None),
    }


class Sample(SimpleNamespace):
    """slime's sample, as far as the adapter touches it."""

    def __init__(self, prompt="", index=None):
        super().__init__(prompt=prompt, index=index, tokens=[], response_length=0, reward=None)
        self.remove_sample, self.metadata, self.loss_mask, self.rollout_id = False, {}, None, None

    def get_reward_value(self, args):
        return self.reward


def slime():
    """Return stand-ins for the modules of slime; `args.draw` is the engine."""

    class GenerateState:
        def __init__(self, args):
            self.sampling_params = {"temperature": 1.0}

    async def generate_and_rm(args, sample, sampling_params, evaluation=False):
        await asyncio.sleep(0)
        return await args.draw(args, sample, sampling_params)

    def generate_rollout(args, rollout_id, data_source, evaluation=False):
        return "evaluated" if evaluation else None

    class RolloutFnTrainOutput(SimpleNamespace):
        def __init__(self, samples, metrics=None):
            super().__init__(samples=samples, metrics=metrics)

    return {
        "slime.rollout.base_types": module(RolloutFnTrainOutput=RolloutFnTrainOutput),
        "slime.rollout.sglang_rollout": module(
            GenerateState=GenerateState, generate_and_rm=generate_and_rm, generate_rollout=generate_rollout
        ),
        "slime.utils.async_utils": module(run=asyncio.run),
    }


def prime_rl():
    """Return stand-ins for the modules of prime-rl."""

    class Algorithm:
        def __init__(self, config, policy_pool):
            self.policy_pool = policy_pool

        async def score_group(self, episodes):
            raise NotImplementedError

    def iter_trainable_traces(episodes):
        for episode in episodes:
            for trace in episode.traces:
                if not trace.has_error and trace.agent.trainable and any(any(node.mask) for node in trace.nodes):
                    yield episode, trace

    def assign_advantages(trace, values):
        for node in trace.nodes:
            if any(node.mask):
                node.advantages = [values] * sum(node.mask)

    return {
        "prime_rl.orchestrator.algo": module(ALGORITHM_CLASSES={"grpo": None}),
        "prime_rl.orchestrator.algo.base": module(Algorithm=Algorithm, iter_trainable_traces=iter_trainable_traces),
        "prime_rl.orchestrator.algo.routing": module(assign_advantages=assign_advantages),
    }


def tinker():
    """Return stand-ins for the types of tinker."""

    class ModelInput:
        def __init__(self, tokens):
            self.tokens, self.length = tokens, len(tokens)

        @classmethod
        def from_ints(cls, tokens):
            return cls(tokens)

        def append(self, chunk):
            return ModelInput(self.tokens + chunk.tokens)

        def to_ints(self):
            return self.tokens

    types = module(
        ModelInput=ModelInput, EncodedTextChunk=SimpleNamespace, Datum=SimpleNamespace, SampledSequence=SimpleNamespace
    )
    return {"tinker": module(ModelInput=ModelInput, types=types), "tinker.types": types}
