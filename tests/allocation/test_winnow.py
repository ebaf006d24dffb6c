from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import winnow
from winnow.budget import Budget
from winnow.errors import ConfigError
from winnow.testing import reference, worlds


def play(recipe, prompts, rollouts, slots, draw, order, ids=None):
    """Play a step with so many slots; ``draw(prompt, number)`` gives outcomes, ``order(flying)`` who finishes next."""
    step = recipe.begin(prompts, budget=Budget(rollouts=rollouts), ids=np.arange(prompts) if ids is None else ids)
    flying, drawn = [], np.zeros(prompts, int)
    while not step.done:
        for prompt, count in step.ask(slots - len(flying)) if len(flying) < slots else []:
            flying += [(prompt, drawn[prompt] + i) for i in range(count)]
            drawn[prompt] += count
        assert len(flying) <= slots
        prompt, number = flying.pop(order(flying))
        step.tell([prompt], [draw(prompt, number)])
    return step.finish()


@settings(max_examples=80, deadline=None)
@given(
    prompts=st.integers(1, 40),
    rollouts=st.integers(2, 150),
    slots=st.sampled_from([1, 7, 64]),
    waves=st.sampled_from([0, 0, 1, 2, 5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_budgets_are_exact_whatever_finishes_first(prompts, rollouts, slots, waves, seed):
    rng = np.random.default_rng(seed)
    rates = rng.beta(0.4, 0.4, prompts)
    batch = play(
        winnow.recipe("winnow", waves=waves), prompts, rollouts, slots,
        lambda prompt, number: None if rng.random() < 0.1 else float(rng.random() < rates[prompt]),
        lambda flying: int(rng.integers(len(flying))),
    )  # fmt: skip
    most = 32 * prompts
    assert batch.ledger.rollouts == min(rollouts, most)
    assert batch.counts.max() <= 32
    assert bool(batch.reason) == (rollouts > most)


@pytest.mark.parametrize("world", worlds(), ids=lambda world: world.name)
def test_worlds(world):
    played = reference(winnow.recipe("winnow"), world, 0)
    assert len(played.drawn) == len(set(played.drawn))


def test_what_a_prompt_gets_follows_what_it_showed():
    """Solved prompts close early, hopeless ones after a search, and most groups that went on are mixed."""
    recipe, rng = winnow.recipe("winnow"), np.random.default_rng(0)
    rates = np.repeat([0.98, 0.5, 0.15, 0.0], 30)
    for visit in range(6):
        order = rng.permutation(120)
        batch = play(
            recipe, 120, 240, 16,
            lambda prompt, number, order=order: float(rng.random() < rates[order[prompt]]), lambda flying: 0,
            ids=order + 1000 * visit,
        )  # fmt: skip
    kinds = [batch.counts[(rates[order] == rate) & (batch.counts > 0)].mean() for rate in (0.98, 0.5, 0.15, 0.0)]
    assert max(kinds[:2]) < 3.2 < min(kinds[2:])


def test_prompts_known_to_teach_nothing_come_last():
    recipe = winnow.recipe("winnow")
    for _ in range(4):
        play(recipe, 8, 64, 4, lambda prompt, number: 1.0, lambda flying: 0)
    batch = play(recipe, 16, 16, 4, lambda prompt, number: float(number % 2), lambda flying: 0, ids=np.arange(16))
    assert batch.counts[:8].sum() == 0 and batch.counts[8:].sum() == 16


def test_without_free_slots_the_budget_is_not_spent_on_opening_alone():
    """A host that takes all requests at once still leaves room for what opened prompts are expected to need."""
    step = winnow.recipe("winnow").begin(64, ids=range(64))
    first = sum(count for _, count in step.ask())
    assert 0.5 * step.budget.rollouts < first < step.budget.rollouts


@pytest.mark.parametrize("waves", [1, 2, 3])
def test_rounds(waves):
    """Asked without limit, so many rounds spend the budget; the first one alone decides nothing by outcomes."""
    rng = np.random.default_rng(waves)
    step = winnow.recipe("winnow", waves=waves).begin(64, ids=range(64))
    asked = []
    while not step.done:
        requests = step.ask()
        asked.append(int(requests.counts.sum()))
        for prompt, count in requests:
            step.tell([prompt] * count, (rng.random(count) < 0.4).astype(float))
    assert len(asked) == waves and sum(asked) == step.budget.rollouts == 128
    assert all(count > 0 for count in asked)


SCORES = {0: (0.2, 0.3, 0.5), 1: (0.55, 0.25, 0.2)}
"""Policies of two prompts over three completions, of which the last is wrong."""


def expected_updates(slots, order, waves):
    """Return (2, 3) the exact mean over all completions of each prompt's update of its logits, and all sizes seen."""
    total, sizes = np.zeros((2, 3)), set()
    recipe = winnow.recipe("winnow", most=5, waves=waves, price=0.0)
    recipe.allocation._belief._first |= {"groups": 4.0, "right": 2.0, "mixed": 4 / 3}  # Beta(1, 1): worth a search

    def follow(path, chance):
        """Play a step along a path of completions; where it ends, branch into all three."""
        taken = iter(path)
        step = recipe.fresh().begin(2, budget=Budget(rollouts=7), ids=[0, 1])
        flying, told = [], []
        while not step.done:
            if len(flying) < slots:
                for prompt, count in step.ask(slots - len(flying)):
                    for _ in range(count):
                        completion = next(taken, None)
                        if completion is None:
                            for other, p in enumerate(SCORES[prompt]):
                                follow([*path, other], chance * p)
                            return
                        flying.append((prompt, completion))
            prompt, completion = flying.pop(order(flying))
            told.append((prompt, completion))
            step.tell([prompt], [float(completion != 2)])
        batch = step.finish()
        sizes.add(tuple(batch.counts.tolist()))
        for row, advantage, weight in zip(batch.rows, batch.advantages, batch.weights, strict=True):
            prompt, completion = told[row]
            total[prompt] += chance * advantage * weight * (np.eye(3)[completion] - SCORES[prompt])

    follow([], 1.0)
    return total, sizes


def log_odds_gradient(policy):
    """Gradient of log(p / (1 - p)) for the softmax logits of a policy."""
    policy = np.array(policy)
    p = 1 - policy[2]
    return policy * (np.array([1.0, 1.0, 0.0]) - p) / (p * (1 - p))


ORDERS = {
    "first come": lambda flying: 0,
    "last come": lambda flying: len(flying) - 1,
    "right first": lambda flying: min(range(len(flying)), key=lambda i: flying[i][1] == 2),
    "short first": lambda flying: max(range(len(flying)), key=lambda i: flying[i][1] != 1),
    "long first": lambda flying: max(range(len(flying)), key=lambda i: flying[i][1] == 1),
}
"""Which rollout in flight finishes next; for the last two one of the right completions is longer than the other."""


@cache
def updates(slots, name, waves):
    return expected_updates(slots, ORDERS[name], waves)


def apart(update, policy):
    """Return the share of an update that is not along grad log(p / (1 - p)), and its scale along that."""
    wanted = log_odds_gradient(policy)
    scale = update @ wanted / (wanted @ wanted)
    return np.linalg.norm(update - scale * wanted) / np.linalg.norm(update), scale


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("name", ORDERS)
def test_no_bias_in_direction(slots, name):
    """Outcomes decide what is drawn, and still the mean update is a positive multiple of grad log(p / (1 - p)).

    Over all completions of a step of two prompts, whatever finishes first, by outcome or by length.
    """
    found, sizes = updates(slots, name, 2)
    assert len(sizes) > 1
    for update, policy in zip(found, SCORES.values(), strict=True):
        share, scale = apart(update, policy)
        assert share < 1e-12 and scale > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("name", ["first come", "last come", "right first"])
def test_no_bias_in_direction_while_streaming(slots, name):
    """Without rounds likewise, as long as what finishes first does not depend on lengths."""
    for update, policy in zip(updates(slots, name, 0)[0], SCORES.values(), strict=True):
        share, scale = apart(update, policy)
        assert share < 1e-12 and scale > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["short first", "long first"])
def test_streaming_leans_where_lengths_decide_what_finishes_first(name):
    """Then the end of the budget, three of seven rollouts here, depends on lengths: up to 9% of the update."""
    shares = [apart(*pair)[0] for pair in zip(updates(3, name, 0)[0], SCORES.values(), strict=True)]
    assert min(shares) > 1e-4 and 0.01 < max(shares) < 0.1


@pytest.mark.parametrize(
    "bad",
    [{"n": 1}, {"waves": -1}, {"most": 1}, {"most": 1000}, {"noise_wrong": 0.0}, {"price": -1.0},
     {"opening": -1.0}, {"retain": 2.0}, {"skip": -0.1}, {"oversample": 0}],
)  # fmt: skip
def test_bad_settings(bad):
    with pytest.raises(ConfigError, match=next(iter(bad)).removeprefix("noise_")):
        winnow.recipe("winnow", **bad)
