"""The coordinator alone: exact budgets, the same decisions in any order of completion, errors, lost workers."""

import asyncio
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import winnow
from tests.host.verl.fleet import play, setup, uid
from winnow.allocation import Uniform
from winnow.budget import Budget
from winnow.errors import BudgetError, ConfigError
from winnow.host.verl.coordinator import Coordinator
from winnow.host.verl.play import Report
from winnow.recipe import Recipe
from winnow.testing import Played, check, reference, worlds

STREAMING = winnow.recipe("vigor+pods", barrier=False, m=4)
RECIPES = [*map(winnow.recipe, winnow.testing.RECIPES), winnow.recipe("vigor", barrier=False), STREAMING,
           winnow.recipe("dapo", barrier=False), winnow.recipe("pods", selection="random", n=8, m=4)]  # fmt: skip


def adapter(shuffle):
    def one_step(rule, world, seed):
        order = np.random.default_rng(shuffle) if shuffle is not None else None
        coordinator = Coordinator(setup(rule, world.prompts, world.budget, seed))

        def score(prompt, session):
            return Report(session, world.reward(prompt, session), None, world.length(prompt, session))

        run = asyncio.run(play(coordinator, world.prompts, score, order=order))
        return Played(
            run.ran, {(int(name[4:]), session): value for (name, session), value in run.decision.worth.items()}
        )

    return one_step


@pytest.fixture(autouse=True)
def same_seed(monkeypatch):
    """The coordinator derives the seed of a step; the reference of `winnow.testing` takes it as it is."""
    monkeypatch.setattr("winnow.host.verl.coordinator.derive", lambda seed, use, step: seed)


@pytest.mark.parametrize("shuffle", [None, 1, 2])
def test_recipes_with_barriers_draw_and_train_what_the_reference_does(shuffle):
    check(adapter(shuffle), recipes=[rule for rule in RECIPES if rule.barrier])


def test_streaming_recipes_in_order_do_as_well():
    check(adapter(None), recipes=[winnow.recipe("dapo", barrier=False)])


@pytest.mark.parametrize("rule", [rule for rule in RECIPES if not rule.barrier], ids=lambda rule: rule.name)
@pytest.mark.parametrize("shuffle", [1, 2, 3])
def test_streaming_recipes_spend_the_budget_exactly_in_any_order(rule, shuffle):
    for world in worlds():
        played, expected = adapter(shuffle)(rule, world, 0), reference(rule, world, 0)
        assert len(set(played.drawn)) == len(played.drawn)
        if world.budget.tokens is None and rule.pool == 1:
            assert len(played.drawn) == len(expected.drawn)
        if world.budget.tokens is not None:
            assert sum(world.length(*draw) for draw in played.drawn) <= world.budget.tokens
        assert all(world.reward(*draw) is not None for draw in played.trained)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 60), st.booleans())
@hypothesis_settings(deadline=None, max_examples=60)
def test_a_rollout_budget_is_spent_exactly(seed, prompts, rollouts, barrier):
    rng = np.random.default_rng(seed)
    rule = winnow.recipe("vigor", barrier=barrier)
    table = rng.random((prompts, 200)).round(1)
    coordinator = Coordinator(setup(rule, prompts, Budget(rollouts=rollouts)))
    run = asyncio.run(play(coordinator, prompts, lambda p, s: Report(s, table[p, s % 200], None, 1), order=rng))
    assert len(run.ran) == len(set(run.ran)) == rollouts
    assert run.decision.metrics["winnow/rollouts"] == rollouts


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(10, 400), st.booleans())
@hypothesis_settings(deadline=None, max_examples=60)
def test_a_token_budget_is_never_exceeded(seed, prompts, tokens, barrier):
    rng = np.random.default_rng(seed)
    rule = winnow.recipe("vigor", barrier=barrier)
    lengths = rng.integers(1, 11, (prompts, 500))
    budget = Budget(tokens=tokens, longest=10)
    coordinator = Coordinator(setup(rule, prompts, budget))
    score = lambda p, s: Report(s, float(rng.random()), None, int(lengths[p, s]))
    run = asyncio.run(play(coordinator, prompts, score, order=rng))
    spent = sum(lengths[draw] for draw in run.ran)
    assert tokens - 10 < spent <= tokens
    assert run.most * 10 <= tokens, "more in flight than the budget could pay if all were long"


@given(st.integers(0, 10**6), st.sampled_from([rule for rule in RECIPES if rule.barrier]))
@hypothesis_settings(deadline=None, max_examples=60)
def test_barriers_decide_the_same_whatever_the_order(seed, rule):
    table = np.random.default_rng(seed).integers(0, 3, (6, 300)) / 2
    runs = []
    for order in (None, np.random.default_rng(seed + 1)):
        coordinator = Coordinator(setup(rule, 6, Budget(tokens=2000, longest=20) if seed % 2 else None))
        runs.append(
            asyncio.run(play(coordinator, 6, lambda p, s: Report(s, table[p, s % 300], None, 1 + s % 7), order=order))
        )
    assert sorted(runs[0].ran) == sorted(runs[1].ran)
    assert runs[0].decision.worth == runs[1].decision.worth


@pytest.mark.parametrize("rule", RECIPES, ids=lambda rule: f"{rule.name}-{rule.barrier}")
def test_unscorable_rollouts_are_charged_and_never_train(rule):
    rng = np.random.default_rng(0)
    marks = rng.choice(np.array([None, float("nan"), 0.0, 1.0], object), (12, 300))
    coordinator = Coordinator(setup(rule, 12))
    run = asyncio.run(play(coordinator, 12, lambda p, s: Report(s, marks[p, s % 300], None, 3), order=rng))
    assert run.decision.metrics["winnow/unscorable"] > 0
    assert run.decision.metrics["winnow/tokens"] == 3 * len(run.ran)
    for name, session in run.decision.worth:
        assert marks[int(name[4:]), session % 300] in (0.0, 1.0)


def test_nothing_scorable_keeps_nothing():
    coordinator = Coordinator(setup(winnow.recipe("vigor"), 4))
    run = asyncio.run(play(coordinator, 4, lambda p, s: Report(s, None)))
    assert not run.decision.worth and not run.decision.scorable
    assert run.decision.metrics["winnow/unscorable"] == len(run.ran) == 32


def test_outcomes_decide_on_signal_and_rewards_train():
    rule = winnow.recipe("grpo", n=4, gate="zero_signal")
    coordinator = Coordinator(setup(rule, 2))
    score = lambda p, s: Report(s, float(s), 1.0 if p == 0 else float(s % 2), 1)
    run = asyncio.run(play(coordinator, 2, score))
    assert {name for name, _ in run.decision.worth} == {uid(1)}
    assert run.decision.metrics["winnow/outcome/all"] == 0.75


@pytest.mark.parametrize("rule", RECIPES, ids=lambda rule: f"{rule.name}-{rule.barrier}")
@pytest.mark.parametrize("budget", [None, Budget(tokens=600, longest=10)])
def test_a_lost_worker_is_charged_and_the_step_ends(rule, budget):
    prompts, rng = 12, np.random.default_rng(3)
    silent = [1] if rule.pool > 1 or budget is not None else [1, 5, 9]
    coordinator = Coordinator(setup(rule, prompts, budget))
    score = lambda p, s: Report(s, float(rng.integers(0, 2)), None, 5)
    run = asyncio.run(play(coordinator, prompts, score, order=rng, silent=silent, lose="worker 1"))
    metrics = run.decision.metrics
    assert metrics["winnow/lost_rollouts"] > 0
    assert run.decision.lost == {"worker 1": metrics["winnow/lost_rollouts"]}
    assert set(run.progress.failed) == {uid(p) for p in range(prompts) if p % 4 == 1}
    assert not any(int(name[4:]) in silent for name, _ in run.decision.worth)
    if budget is None:
        assert metrics["winnow/rollouts"] <= prompts * rule.allocation.n
        assert rule.pool > 1 or metrics["winnow/rollouts"] == prompts * rule.allocation.n
    else:
        assert metrics["winnow/tokens"] <= 600, "a lost rollout is charged what was reserved for it"


def test_reports_that_come_late_are_counted_and_change_nothing():
    async def scenario():
        coordinator = Coordinator(setup(winnow.recipe("grpo", n=2), 2))
        await coordinator.open(1, {uid(0): "a", uid(1): "b"})
        assert await coordinator.next(1, uid(0), []) == [0, 1]
        assert await coordinator.next(1, uid(1), []) == [0, 1]
        await coordinator.lose("a")
        assert await coordinator.next(1, uid(1), [Report(0, 0.0), Report(1, 1.0)]) == []
        assert await coordinator.next(1, uid(0), [Report(0, 1.0), Report(1, 0.0)]) == []
        assert await coordinator.next(7, uid(0), [Report(0, 1.0)]) == []
        return await coordinator.finish(1)

    decision = asyncio.run(scenario())
    assert decision.metrics["winnow/late_reports"] == 2
    assert {name for name, _ in decision.worth} == {uid(1)}


def test_a_worker_lost_before_the_step_begins_counts_too():
    async def scenario():
        coordinator = Coordinator(setup(winnow.recipe("dapo", pool=2, n=2), 4))
        await coordinator.open(1, {uid(0): "a", uid(1): "b"})
        waiting = asyncio.create_task(coordinator.next(1, uid(1), []))
        await asyncio.sleep(0)
        await coordinator.lose("a")
        await coordinator.open(1, {uid(2): "b", uid(3): "b"})
        assert await waiting == [0, 1]
        others = [asyncio.create_task(coordinator.next(1, uid(p), [])) for p in (2, 3)]
        await asyncio.sleep(0)
        told = asyncio.create_task(coordinator.next(1, uid(1), [Report(0, 0.0), Report(1, 1.0)]))
        assert await others[0] == [0, 1]
        assert await coordinator.next(1, uid(2), [Report(0, 0.0), Report(1, 1.0)]) == []
        assert await told == [] and await others[1] == []
        return await coordinator.finish(1)

    decision = asyncio.run(scenario())
    assert decision.metrics["winnow/lost_rollouts"] == 2
    assert {name for name, _ in decision.worth} == {uid(1), uid(2)}


def test_more_tokens_than_reserved_stop_the_run():
    coordinator = Coordinator(setup(winnow.recipe("grpo"), 4, Budget(tokens=400, longest=10)))
    with pytest.raises(BudgetError, match="a rollout of 11 tokens"):
        asyncio.run(play(coordinator, 4, lambda p, s: Report(s, 1.0, None, 11)))


def test_an_error_in_a_rule_ends_the_step_for_everybody_and_reaches_the_driver():
    def gate(seen):
        raise ZeroDivisionError("a rule of the user's own")

    @dataclass(frozen=True)
    class Broken(Uniform):
        def begin(self, prompts, rollouts, rng):
            allocator = super().begin(prompts, rollouts, rng)
            allocator.hear = lambda prompts, seen: gate(seen)
            return allocator

    coordinator = Coordinator(setup(Recipe(allocation=Broken(4)), 4))
    with pytest.raises(ZeroDivisionError, match="a rule of the user's own"):
        asyncio.run(play(coordinator, 4, lambda p, s: Report(s, 1.0, None, 1)))


def test_a_worker_can_end_the_step_with_an_error():
    async def scenario():
        coordinator = Coordinator(setup(winnow.recipe("grpo", n=2), 1))
        await coordinator.open(1, {uid(0): "a"})
        await coordinator.next(1, uid(0), [])
        await coordinator.fail(1, ConfigError("no such key"))
        assert await coordinator.next(1, uid(0), []) == []
        await coordinator.wait(1, 1)

    with pytest.raises(ConfigError, match="no such key"):
        asyncio.run(scenario())


def test_waiting_for_a_step_nobody_opened_says_so():
    coordinator = Coordinator(setup(winnow.recipe("grpo"), 4))
    with pytest.raises(ConfigError, match="step 3 was not opened"):
        asyncio.run(coordinator.wait(3, 0.01))


def test_too_many_prompts_are_refused():
    coordinator = Coordinator(setup(winnow.recipe("grpo"), 2))
    with pytest.raises(ConfigError, match="3 prompts, expected 2"):
        asyncio.run(coordinator.open(1, {uid(p): "a" for p in range(3)}))


def test_steps_follow_each_other_and_the_account_goes_on():
    async def scenario():
        coordinator = Coordinator(setup(winnow.recipe("grpo", n=2), 3))
        score = lambda p, s: Report(s, float(s), None, 2)
        for number in (1, 2):
            run = await play(coordinator, 3, score, number=number)
        return run.decision, await coordinator.state_dict()

    decision, state = asyncio.run(scenario())
    assert decision.metrics["winnow/total/rollouts"] == 12 and decision.metrics["winnow/rollouts"] == 6
    other = Coordinator(setup(winnow.recipe("grpo", n=2), 3))
    asyncio.run(other.load_state_dict(state))
    assert asyncio.run(other.state_dict()) == state
