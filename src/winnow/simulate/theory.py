"""Closed forms of the papers, for pass rates or variances that are known."""

from __future__ import annotations

import math
from collections.abc import Mapping

from winnow.allocation import Vigor
from winnow.errors import ConfigError
from winnow.recipe import Recipe


def eta(rounds: int, keep: float, growth: float, tail: float) -> float:
    """Return by how much VIGOR raises the mean variance over rollouts (arXiv 2607.22002, theorem 2).

    Where the variances of prompts have a Pareto tail with exponent k, the top ``keep^i`` of them have a mean variance
    ``keep^(-i/k)`` times that of all, and get a share of ``(keep growth)^i`` of the rollouts:
    ``eta = sum (growth keep^(1-1/k))^i / sum (keep growth)^i`` over rounds i = 0, 1, ...

    Args:
        rounds: T, at least 1.
        keep: share of the prompts that stays active.
        growth: factor on the rollouts per prompt.
        tail: k, above 1.

    Raises:
        ConfigError: if a number is out of range.
    """
    if rounds < 1 or not 0 < keep < 1 or not growth > 1 or not tail > 1:
        raise ConfigError(
            f"eta(rounds={rounds}, keep={keep}, growth={growth}, tail={tail}): use rounds >= 1, 0 < keep < 1, "
            "growth > 1 and tail > 1"
        )
    gained = math.fsum((growth * keep ** (1 - 1 / tail)) ** i for i in range(rounds))
    return gained / math.fsum((keep * growth) ** i for i in range(rounds))


def speed_up(rounds: int, keep: float, growth: float, tail: float) -> float:
    """Return the quotient of steps that theorem 2 states, ``eta^(1/3)``."""
    return math.cbrt(eta(rounds, keep, growth, tail))


def predictions(pool: str, recipes: Mapping[str, Recipe]) -> dict[str, dict[str, float]]:
    """Return ``eta`` and ``speed_up`` by label, for VIGOR's recipes on a pool of ``variance:K`` with K above 1."""
    kind, _, tail = pool.partition(":")
    if kind != "variance" or float(tail) <= 1:
        return {}
    rules = {label: recipe.allocation for label, recipe in recipes.items() if isinstance(recipe.allocation, Vigor)}
    return {
        label: {
            "eta": eta(rule.rounds, rule.keep, rule.growth, float(tail)),
            "speed_up": speed_up(rule.rounds, rule.keep, rule.growth, float(tail)),
        }
        for label, rule in rules.items()
    }


def signal(rate: float, n: int) -> float:
    """Return the probability that n rollouts at a pass rate differ, ``1 - p^n - (1-p)^n``."""
    return 1.0 - rate**n - (1.0 - rate) ** n


def dapo_prompts(wanted: int, rate: float, n: int) -> float:
    """Return the prompts dynamic sampling generates for ``wanted`` groups with signal at one pass rate, on average."""
    return wanted / signal(rate, n)


def greso_visits(streak: int, chance: float = 0.5, floor: float = 0.01) -> float:
    """Return the visits until GRESO takes a prompt with ``streak`` visits without signal again, on average."""
    return 1.0 / max(chance**streak, floor)


def ada_rollouts(rate: float, size: int, rounds: int, n: int, balanced: bool) -> float:
    """Return the rollouts Reinforce-Ada draws of a prompt, on average (arXiv 2510.04996).

    Args:
        rate: pass rate.
        size: rollouts of a round.
        rounds: the most rounds.
        n: rollouts kept; balanced stops at ``n // 2`` passes and ``n - n // 2`` failures, else at one pass.
        balanced: which of the two variants.
    """
    total = 0.0
    for done in range(rounds):
        drawn = size * done
        total += size * sum(
            math.comb(drawn, passes) * rate**passes * (1 - rate) ** (drawn - passes)
            for passes in range(drawn + 1)
            if (passes < n // 2 or drawn - passes < n - n // 2 if balanced else passes < 1)
        )
    return total
