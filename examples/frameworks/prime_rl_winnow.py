"""winnow's selection and advantages inside prime-rl 0.8.0 (559b447); allocation stays prime-rl's.

In the process that runs the orchestrator, before it starts:

    import prime_rl_winnow, winnow

    prime_rl_winnow.install(winnow.recipe("pods", n=32, m=8))  # group_size = 32, algo.type = "grpo"
"""

from prime_rl.orchestrator import algo
from prime_rl.orchestrator.algo.base import Algorithm, iter_trainable_traces
from prime_rl.orchestrator.algo.routing import assign_advantages

import winnow
from winnow.allocation import Uniform
from winnow.errors import ConfigError


class WinnowAlgorithm(Algorithm):
    """Score a finished group: selected traces get the recipe's advantage, all others exactly 0.

    With `train.filter_zero_advantages` (the default) traces of advantage 0 are pruned before they reach the trainer.
    """

    recipe = winnow.recipe("pods")
    seed = 0

    def __init__(self, config, policy_pool):
        super().__init__(config, policy_pool)
        if not isinstance(self.recipe.allocation, Uniform):
            raise ConfigError(
                f"recipe {self.recipe.name!r} decides group sizes, which prime-rl has fixed when it schedules a group: "
                "use a recipe of uniform groups, as pods, grpo or rloo"
            )
        self.groups, self.ledger = 0, winnow.Ledger()

    async def score_group(self, episodes):
        """Assign advantages to every trainable trace of the group."""
        trainable = {trace.id for _, trace in iter_trainable_traces(episodes)}
        traces = [trace for episode in episodes for trace in episode.traces if trace.agent.trainable]
        scores = [_score(trace) if trace.id in trainable else None for trace in traces]
        rule = self.recipe.override(n=max(len(traces), self.recipe.allocation.n))
        step = rule.begin(1, budget=winnow.Budget(rollouts=len(traces)), seed=self.seed + self.groups)
        self.groups += 1
        step.ask()
        step.tell([0] * len(traces), scores, tokens=[trace.num_output_tokens for trace in traces])
        batch = step.finish()
        self.ledger.add(batch.ledger)
        worth = dict(zip(batch.rows.tolist(), (batch.advantages * batch.weights).tolist(), strict=True))
        for row, trace in enumerate(traces):
            if trace.id in trainable:
                assign_advantages(trace, worth.get(row, 0.0))  # None would not be pruned


def _score(trace):
    """Return the reward, None where nothing was scored: `trace.reward` sums over no rewards to 0."""
    return trace.reward if any(reward is not None for reward in trace.rewards.values()) else None


def install(recipe, seed=0):
    """Put the recipe behind `algo.type = "grpo"`: prime-rl's table of algorithms takes no new names."""
    named = type("WinnowAlgorithm", (WinnowAlgorithm,), {"recipe": recipe, "seed": seed})
    algo.ALGORITHM_CLASSES["grpo"] = named
    return named
