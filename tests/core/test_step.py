"""The step as a conversation: budgets, order, fates, and what it refuses."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import CASES

import winnow
from winnow import Budget
from winnow.errors import BudgetError, ConfigError


def answer(step, reward=lambda prompt, k: k % 2, tokens=lambda prompt, k: 1 + (prompt + k) % 4):
    drawn: dict[int, int] = {}
    while not step.done:
        requests = step.ask()
        assert len(requests)
        for prompt, count in requests:
            numbers = range(drawn.get(prompt, 0), drawn.get(prompt, 0) + count)
            drawn[prompt] = drawn.get(prompt, 0) + count
            step.tell(
                [prompt] * count, [reward(prompt, k) for k in numbers], tokens=[tokens(prompt, k) for k in numbers]
            )
    return step.finish()


def test_the_readme_loop():
    batch = answer(winnow.recipe("vigor+pods", m=4).begin(16, budget=Budget(rollouts=128), seed=0))
    assert batch.ledger.rollouts == 128
    assert batch.counts.sum() == 128
    assert np.bincount(batch.prompts).max() == 4
    assert (np.diff(batch.rows) > 0).all()


def test_every_rollout_has_one_fate():
    rewards = {0: [1, 1, 1, 1], 1: [0, 1, None, 0], 2: [float("nan"), 1, 2, 3], 3: [0, 0, 0, 1]}
    step = winnow.recipe("pods", n=4, m=2, gate="zero_signal").begin(4)
    batch = answer(step, reward=lambda prompt, k: rewards[prompt][k])
    assert batch.fates == (
        *("gated",) * 4,
        *("trained", "trained", "unscorable", "not selected"),
        *("unscorable", "trained", "not selected", "trained"),
        *("trained", "not selected", "not selected", "trained"),
    )
    ledger = batch.ledger
    assert (
        ledger.rollouts == 16 == ledger.unscorable + ledger.gated + ledger.discarded + ledger.no_signal + ledger.trained
    )
    assert (ledger.unscorable, ledger.gated, ledger.discarded, ledger.trained) == (2, 4, 4, 6)
    assert batch.signal.tolist() == [False, True, True, True]
    assert (batch.kept_rows, batch.full_rows, ledger.no_signal_groups) == (6, 14, 1)


def test_rows_without_signal_stay_in_the_denominator_unless_gated():
    def totals(gate):
        batch = answer(winnow.recipe("grpo", n=4, gate=gate).begin(2), reward=lambda p, k: 1 if p == 0 else k % 2)
        return batch.kept_rows, batch.ledger.no_signal, batch.ledger.trained

    assert totals("none") == (8, 4, 4)
    assert totals("zero_signal") == (4, 0, 4)


def test_nothing_usable_is_no_error():
    groups = CASES["ALLOC-01"]["input"]["groups"]
    rewards = [list(chain.from_iterable(group["rewards_by_round"])) for group in groups]
    step = winnow.recipe("grpo", n=6).begin(2)
    batch = answer(step, reward=lambda prompt, k: rewards[prompt][k])
    assert batch.ledger.no_signal_groups == CASES["ALLOC-01"]["expected"]["counters"]["no_signal_groups"]
    assert not batch.advantages.any()
    assert batch.ledger.trained == 0


def test_statistics_over_kept_or_all_rows():
    def advantages(stats):
        rewards = [1, 0, 0, 0, 0, 0, 0, 0]
        recipe = winnow.recipe("pods", n=8, m=2, stats=stats, ddof=0, eps=0)
        return answer(recipe.begin(1), reward=lambda p, k: rewards[k]).advantages

    assert advantages("full") == pytest.approx([2.645751, -0.377964], abs=1e-6)
    assert advantages("kept") == pytest.approx([1, -1])


def test_signal_is_judged_on_the_outcome():
    def batch(signal):
        step = winnow.recipe("grpo", n=2, gate="zero_signal", signal=signal).begin(1)
        step.ask()
        step.tell([0, 0], rewards=[0.5, 0.2], outcomes=[0, 0])
        return step.finish()

    assert batch("outcome").fates == ("gated", "gated")
    assert batch("reward").fates == ("trained", "trained")


@given(
    st.integers(1, 7),
    st.integers(1, 60),
    st.integers(1, 9),
    st.sampled_from(["grpo", "vigor", "vigor+pods"]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_token_budgets_are_never_exceeded(prompts, tokens, longest, name, barrier):
    recipe = winnow.recipe(name) if name == "grpo" else winnow.recipe(name, barrier=barrier)
    if longest > tokens:
        with pytest.raises(ConfigError, match="not even one rollout"):
            Budget(tokens=tokens, longest=longest)
        return
    step = recipe.begin(prompts, budget=Budget(tokens=tokens, longest=longest))
    batch = answer(step, tokens=lambda prompt, k: 1 + (prompt * 7 + k * 3) % longest)
    left = tokens - batch.ledger.tokens
    assert left >= 0
    assert left < longest or batch.reason.endswith("rollouts")
    assert bool(batch.reason) == (left > 0)


def test_a_token_budget_without_a_longest_rollout_goes_one_by_one():
    step = winnow.recipe("grpo", n=8).begin(2, budget=Budget(tokens=10))
    while not step.done:
        assert step.ask().total == 1
        step.tell([0 if step.seen.told[0] < 8 else 1], [1.0], tokens=[3 if step.seen.told.sum() < 3 else 1])
    assert step.finish().ledger.tokens == 10


@given(st.integers(0, 2**31))
@settings(max_examples=50, deadline=None)
def test_the_order_of_telling_does_not_change_what_is_learned(seed):
    rng = np.random.default_rng(seed)
    rewards = rng.integers(0, 3, (5, 6)).astype(float)

    def learned(order):
        step = winnow.recipe("pods", n=6, m=3).begin(5)
        step.ask()
        flat = [(prompt, rewards[prompt, k]) for prompt in range(5) for k in range(6)]
        for i in order:
            step.tell([flat[i][0]], [flat[i][1]])
        batch = step.finish()
        return sorted(zip(batch.prompts.tolist(), np.round(batch.advantages, 9).tolist(), strict=True))

    assert learned(range(30)) == learned(rng.permutation(30))


def test_ask_respects_the_limit_and_resumes_where_it_stopped():
    step = winnow.recipe("grpo", n=4).begin(3)
    assert step.ask(limit=6) == [(0, 4), (1, 2)]
    assert step.ask(limit=0) == []
    assert step.ask() == [(1, 2), (2, 4)]
    assert step.ask() == []
    assert not step.done
    assert step.in_flight == 12


def test_what_a_step_refuses():
    step = winnow.recipe("grpo", n=2).begin(2)
    step.ask()
    with pytest.raises(ValueError, match="prompt 5 is not in this step, which has prompts 0 to 1"):
        step.tell([5], [1.0])
    with pytest.raises(ValueError, match="2 prompts, 1 rewards"):
        step.tell([0, 1], [1.0])
    with pytest.raises(BudgetError, match="1 more rollouts of prompt 0"):
        step.tell([0, 0, 0], [1, 0, 1])
    with pytest.raises(ConfigError, match="4 rollouts asked for were not told"):
        step.finish()
    step.tell([0, 0, 1, 1], [1, 0, 1, 0])
    assert step.finish().ledger.trained == 4
    with pytest.raises(ConfigError, match="limit"):
        step.ask(limit=-1)
    with pytest.raises(ConfigError, match="found both"):
        Budget(rollouts=1, tokens=1)
    with pytest.raises(ConfigError, match="found neither"):
        Budget()
    with pytest.raises(ConfigError, match="rollouts=0"):
        Budget(rollouts=0)
    with pytest.raises(ConfigError, match="0 prompts"):
        winnow.recipe("grpo").begin(0)
    step = winnow.recipe("grpo").begin(1, budget=Budget(tokens=8, longest=4))
    step.ask()
    with pytest.raises(ConfigError, match=r"tokens=\.\.\."):
        step.tell([0], [1.0])
    with pytest.raises(BudgetError, match="reserved at most longest=4"):
        step.tell([0], [1.0], tokens=[5])


def test_prompts_may_be_given_as_records():
    assert winnow.recipe("grpo").begin(["a", "b"]).ask().total == 16
