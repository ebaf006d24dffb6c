"""winnow inside SkyRL 0.3.0: a generator around the generator.

Run it in place of ``skyrl.train.entrypoints.main_base``, with the settings you have and m rollouts per prompt:

    python skyrl_winnow.py generator.n_samples_per_prompt=4 ...
"""

import copy
import math
import sys

import ray
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.entrypoints.main_base import BasePPOExp
from skyrl.train.generators.base import GeneratorInterface, TrajectoryID
from skyrl.train.generators.utils import concatenate_generator_outputs
from skyrl.train.utils import validate_cfg
from skyrl.train.utils.utils import initialize_ray

import winnow
from winnow.errors import ConfigError
from winnow.host.rectangular import rectangle


class WinnowGenerator(GeneratorInterface):
    """Draw what the recipe asks for through another generator; return m trajectories of every prompt, in its order."""

    def __init__(self, inner, recipe, m):
        self.inner, self.recipe, self.m, self.ledger = inner, recipe, m, None

    async def generate(self, input_batch):
        """Return as many trajectories as came in; evaluation passes through."""
        about = input_batch["batch_metadata"]
        if about.training_phase != "train":
            return await self.inner.generate(input_batch)
        firsts = range(0, len(input_batch["prompts"]), self.m)  # rows of one prompt lie together
        step, waves, owners = self.recipe.begin(len(firsts), seed=about.global_step), [], []
        drawn = [0] * len(firsts)
        while not step.done:
            wave = [(prompt, firsts[prompt]) for prompt, count in step.ask() for _ in range(count)]
            output = await self.inner.generate(self._request(input_batch, wave, drawn))
            if output.get("is_last_step") is not None:
                raise ConfigError("several rows per rollout: set generator.step_wise_trajectories=false")
            found = [_score(reward) for reward in output["rewards"]]
            step.tell([prompt for prompt, _ in wave], found, tokens=[len(ids) for ids in output["response_ids"]])
            waves.append({**output, "rewards": _numbers(output, found)})
            owners += [prompt for prompt, _ in wave]
        batch = step.finish()
        self.ledger = batch.ledger
        kept = rectangle(batch, owners, self.m)
        return _keep(concatenate_generator_outputs(waves), kept, input_batch["trajectory_ids"], self._metrics(batch))

    def _request(self, source, wave, drawn):
        """Return a generator input with one row per rollout of the wave; environments get their own extras."""
        ids = []
        for prompt, row in wave:
            ids.append(TrajectoryID(source["trajectory_ids"][row].instance_id, drawn[prompt]))
            drawn[prompt] += 1
        rows = [row for _, row in wave]
        return {
            **source,
            "prompts": [source["prompts"][row] for row in rows],
            "env_classes": [source["env_classes"][row] for row in rows],
            "env_extras": source["env_extras"] and [copy.deepcopy(source["env_extras"][row]) for row in rows],
            "trajectory_ids": ids,
        }

    def _metrics(self, batch):
        ledger = batch.ledger.as_dict()
        return {f"winnow/{name}": ledger[name] for name in ("rollouts", "tokens", "unscorable", "trained", "waves")}


def _score(reward):
    """Return one number per trajectory (token rewards are summed), or None if it is missing or not finite."""
    total = math.nan if reward is None else float(sum(reward)) if isinstance(reward, list) else float(reward)
    return total if math.isfinite(total) else None


def _numbers(output, found):
    """Return the rewards with 0 for those that are missing: SkyRL's metrics of a wave need numbers."""
    by_token = any(isinstance(reward, list) for reward in output["rewards"])
    zeros = [[0.0] * len(ids) if by_token else 0.0 for ids in output["response_ids"]]
    columns = zip(output["rewards"], found, zeros, strict=True)
    return [zero if score is None else reward for reward, score, zero in columns]


def _keep(output, kept, trajectory_ids, metrics):
    """Cut every per-row list to the kept rows; rows of prompts that sit out get reward 0 and no loss."""
    size, rows = len(output["response_ids"]), kept.rows.ravel().tolist()
    cut = {k: [v[r] for r in rows] if isinstance(v, list) and len(v) == size else v for k, v in output.items()}
    for place, trains in enumerate(kept.trains.repeat(kept.rows.shape[1]).tolist()):
        if not trains:
            cut["loss_masks"][place] = [0] * len(cut["loss_masks"][place])
            reward = cut["rewards"][place]
            cut["rewards"][place] = [0.0] * len(reward) if isinstance(reward, list) else 0.0
    return {**cut, "trajectory_ids": trajectory_ids, "rollout_metrics": {**output["rollout_metrics"], **metrics}}


class WinnowExp(BasePPOExp):
    """SkyRL's experiment with the recipe in front of its generator."""

    recipe = winnow.recipe("vigor+pods", initial=4, m=4)

    def get_generator(self, cfg, tokenizer, inference_engine_client):
        """Return SkyRL's generator, wrapped."""
        inner = super().get_generator(cfg, tokenizer, inference_engine_client)
        return WinnowGenerator(inner, self.recipe, cfg.generator.n_samples_per_prompt)


@ray.remote(num_cpus=1)
def run(cfg):
    WinnowExp(cfg).run()


if __name__ == "__main__":
    cfg = SkyRLTrainConfig.from_cli_overrides(sys.argv[1:])
    validate_cfg(cfg)
    initialize_ray(cfg)
    ray.get(run.remote(cfg))
