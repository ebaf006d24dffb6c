"""Advantages against a loop over groups, on ragged groups with odd labels, offsets, NaN and float32."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.advantage import centred, group_weights, grpo, rloo, signal

values = st.sampled_from([0.0, 1.0, 0.5, -2.0, 0.1]) | st.floats(-10, 10, allow_nan=False, width=32)
ragged = st.lists(st.lists(values, min_size=1, max_size=7), min_size=1, max_size=6)


def reference(name, group, ddof=1, eps=1e-4):
    group = np.asarray(group, np.float64)
    n = len(group)
    if n < 2 or group.max() == group.min():
        return np.zeros(n)
    deviation = group - group.mean()
    if name == "centred":
        return deviation
    if name == "rloo":
        return np.array([group[i] - np.delete(group, i).mean() for i in range(n)])
    return deviation / (group.std(ddof=ddof) + eps)


RULES = {"grpo": grpo, "centred": centred, "rloo": rloo}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.filterwarnings("ignore:every group has size 1")
@given(groups=ragged, data=st.data())
@settings(max_examples=100, deadline=None)
def test_equals_the_loop_in_any_order_with_any_labels(name, groups, data):
    labels = data.draw(st.lists(st.integers(-99, 99), min_size=len(groups), max_size=len(groups), unique=True))
    rewards = np.concatenate([np.array(group) for group in groups])
    names = np.concatenate([[label] * len(group) for label, group in zip(labels, groups, strict=True)])
    wanted = np.concatenate([reference(name, group) for group in groups])
    order = np.array(data.draw(st.permutations(range(len(rewards)))))
    assert RULES[name](rewards[order], names[order]) == pytest.approx(wanted[order], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", RULES)
@given(group=st.lists(st.integers(0, 8), min_size=2, max_size=9), single=st.booleans())
@settings(max_examples=100, deadline=None)
def test_offset_and_precision(name, group, single):
    rewards = np.array(group) / 8
    wanted = RULES[name](rewards)
    assert RULES[name](rewards + 1e8) == pytest.approx(wanted, abs=1e-9)
    if single:
        assert RULES[name](rewards.astype(np.float32)).tolist() == wanted.tolist()


@pytest.mark.parametrize("name", RULES)
@pytest.mark.filterwarnings("ignore:every group has size 1")
@given(groups=ragged, data=st.data())
@settings(max_examples=60, deadline=None)
def test_unscorable_rows_are_left_out_and_get_zero(name, groups, data):
    rewards = np.concatenate([np.array(group) for group in groups])
    labels = np.concatenate([[i] * len(group) for i, group in enumerate(groups)])
    broken = np.array(data.draw(st.lists(st.booleans(), min_size=len(rewards), max_size=len(rewards))))
    given_rewards = np.where(broken, data.draw(st.sampled_from([np.nan, np.inf])), rewards)
    result = RULES[name](given_rewards, labels)
    assert (result[broken] == 0).all()
    assert result[~broken] == pytest.approx(RULES[name](rewards[~broken], labels[~broken]), rel=1e-12, abs=1e-12)
    flags = signal(given_rewards, labels)
    for i in range(len(groups)):
        inside = rewards[(labels == i) & ~broken]
        assert flags[(labels == i) & ~broken].all() == (len(inside) == 0 or inside.max() > inside.min())


@given(ragged, st.sampled_from(["rollout", "prompt", "sqrt"]))
@settings(max_examples=60, deadline=None)
def test_weights_follow_the_size(groups, rule):
    labels = np.concatenate([[i] * len(group) for i, group in enumerate(groups)])
    weights = group_weights(labels, rule)
    assert weights.mean() == pytest.approx(1)
    power = {"rollout": 0, "prompt": 1, "sqrt": 0.5}[rule]
    sizes = np.array([len(groups[label]) for label in labels], float)
    products = weights * sizes**power
    assert products == pytest.approx(products[0])
