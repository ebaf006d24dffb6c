"""winnow inside slime (624b824, 0.3.1): two functions that slime loads by path.

Settings:

    --rollout-function-path slime_winnow.generate_rollout
    --custom-reward-post-process-path slime_winnow.rewards_are_advantages
    --advantage-estimator grpo --rollout-batch-size 32 --n-samples-per-prompt 8
"""

import asyncio
import copy
from collections import defaultdict

from slime.rollout.base_types import RolloutFnTrainOutput
from slime.rollout.sglang_rollout import GenerateState, generate_and_rm
from slime.rollout.sglang_rollout import generate_rollout as evaluate
from slime.utils.async_utils import run

import winnow
from winnow.errors import ConfigError

RECIPE = winnow.recipe("vigor", n=8)  # selects nothing, so n-samples-per-prompt is n; with selection it is m


def generate_rollout(args, rollout_id, data_source, evaluation=False):
    """Return `rollout_batch_size * n_samples_per_prompt` samples, in groups that may differ in size."""
    if evaluation:
        return evaluate(args, rollout_id, data_source, evaluation=True)
    if args.group_rm or args.partial_rollout:
        raise ConfigError("rewards are needed one by one, for whole rollouts: drop --group-rm and --partial-rollout")
    return run(collect(args, rollout_id, data_source))


async def collect(args, rollout_id, data_source):
    """Draw the waves of one step; every sample leaves with its advantage, or marked as removed."""
    state = GenerateState(args)
    groups = data_source.get_samples(args.rollout_batch_size * RECIPE.pool)
    step, told, owners = RECIPE.begin(len(groups), seed=rollout_id), [], []
    while not step.done:
        wave = [index for index, count in step.ask() for _ in range(count)]
        fresh = [copy.deepcopy(groups[index][0]) for index in wave]
        drawn = await asyncio.gather(*(generate_and_rm(args, s, state.sampling_params.copy()) for s in fresh))
        if any(isinstance(sample, list) for sample in drawn):
            raise ConfigError("a rollout that fans out into several samples is not supported here")
        scores = [None if s.reward is None else s.get_reward_value(args) for s in drawn]
        step.tell(wave, scores, tokens=[sample.response_length for sample in drawn])
        told += drawn
        owners += wave
    batch = step.finish()
    slots = [sample.index for group in groups for sample in group]
    samples = fill(batch, told, owners, args.rollout_batch_size * args.n_samples_per_prompt, slots)
    ledger = batch.ledger.as_dict()
    metrics = {f"winnow/{name}": ledger[name] for name in ("rollouts", "tokens", "unscorable", "trained", "waves")}
    return RolloutFnTrainOutput(samples=samples, metrics=metrics)


def fill(batch, told, owners, size, slots):
    """Return kept samples and, up to `size`, others with their loss removed, as lists by prompt.

    slime divides by the samples of an optimiser step, removed ones included, so the advantages of the kept ones grow by
    size / kept. With one optimiser step per rollout (global_batch_size == size) this is exact.
    """
    kept = batch.rows.tolist()
    if len(kept) > size or len(told) < size:
        raise ConfigError(
            f"the recipe drew {len(told)} rollouts and keeps {len(kept)}, slime trains on {size}: set "
            "--n-samples-per-prompt to m of a recipe that selects, to n of one that does not"
        )
    worth = batch.advantages * batch.weights * (size / max(len(kept), 1))
    keep = dict(zip(kept, worth.tolist(), strict=True))
    others = iter(sorted((row for row in range(len(told)) if row not in keep), key=lambda row: not told[row].tokens))
    chosen = sorted([*keep, *(next(others) for _ in range(size - len(kept)))], key=lambda row: (owners[row], row))
    groups = defaultdict(list)
    for row, slot in zip(chosen, slots, strict=False):
        sample = told[row]
        sample.index = sample.rollout_id = slot  # siblings that share a rollout id would be counted once
        sample.remove_sample = row not in keep
        sample.metadata = {**(sample.metadata or {}), "advantage": keep.get(row, 0.0)}
        groups[owners[row]].append(sample)
    return list(groups.values())


def rewards_are_advantages(args, samples):
    """Return (raw rewards, advantages); slime's own rule would mix groups that differ in size."""
    raw = [0.0 if sample.reward is None else float(sample.get_reward_value(args)) for sample in samples]
    return raw, [sample.metadata["advantage"] for sample in samples]
