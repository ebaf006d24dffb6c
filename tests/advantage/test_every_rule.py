"""What every advantage beside the core three has in common: no order, no NaN, and 0 where it has no signal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.advantage.base import Advantage
from winnow.advantage.cue import Cue
from winnow.advantage.gcpo import Gcpo
from winnow.advantage.overlong import Overlong
from winnow.advantage.prime import Prime
from winnow.advantage.seed import Seed
from winnow.advantage.whitened import Whitened
from winnow.advantage.ws_grpo import WsGrpo
from winnow.columns import needed

RULES = {
    "whitened": Whitened(baseline=False),
    "whitened, tokens": Whitened(baseline=False, statistics="token", ddof=1),
    "whitened, baseline": Whitened(),
    "whitened, baseline, tokens": Whitened(statistics="token"),
    "seed": Seed(),
    "seed, plugin": Seed(entropy="plugin", shape="exponential"),
    "cue": Cue(),
    "gcpo": Gcpo(),
    "gcpo, scaled": Gcpo(scaled=True),
    "maxrl": Advantage("maxrl"),
    "opo": Advantage("opo"),
    "raft": Advantage("raft"),
    "reinforce_rej": Advantage("reinforce_rej"),
    "overlong": Overlong(longest=6, cache=4),
    "overlong, rloo": Overlong(longest=6, cache=4, base="rloo"),
    "ws_grpo": WsGrpo(),
    "prime": Prime(),
}
BATCH = {name for name in RULES if name.startswith(("whitened", "prime"))}  # statistics over the whole step
NO_GROUP = {"whitened", "whitened, tokens", "raft"}  # groups of equal rewards, and single rollouts, have signal
FROM_ZERO = {"gcpo", "gcpo, scaled", "maxrl", "raft", "reinforce_rej"}  # an offset changes the meaning of rewards
pytestmark = pytest.mark.filterwarnings("ignore:every group has size 1")
ragged = st.lists(
    st.lists(st.sampled_from([0.0, 1.0, 0.5, np.nan]), min_size=1, max_size=7), min_size=1, max_size=5
)  # fmt: skip


def facts(size, seed, outcomes):
    rng = np.random.default_rng(seed)
    return {
        "lengths": rng.integers(1, 9, size),
        "answers": rng.choice(np.array(["a", "b", None], object), size),
        "scores": rng.integers(0, 5, size) / 4,
        "embeddings": rng.integers(-2, 3, (size, 2)).astype(float),
        "outcomes": np.asarray(outcomes),
    }


def worth(rule, rewards, groups, columns, rows=None):
    rows = np.arange(len(rewards)) if rows is None else rows
    return rule(rewards[rows], groups[rows], **{name: columns[name][rows] for name in needed(rule)})


def flat(groups):
    return np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def trains(advantages, owners):
    """Return the groups in which an advantage is not exactly 0."""
    return set(owners[advantages != 0].tolist())


@pytest.mark.parametrize("name", RULES)
@given(groups=ragged, seed=st.integers(0, 99), data=st.data())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_order_labels_precision_and_unscorable_rows(name, groups, seed, data):
    rule = RULES[name]
    rewards, owners = flat(groups)
    columns = facts(len(rewards), seed, rewards)
    found = worth(rule, rewards, owners, columns)
    assert found.dtype == np.float64 and found.shape == rewards.shape and np.isfinite(found).all()
    assert (found[~np.isfinite(rewards)] == 0).all()
    order = np.array(data.draw(st.permutations(range(len(rewards)))))
    labels = data.draw(st.lists(st.integers(-99, 99), min_size=len(groups), max_size=len(groups), unique=True))
    moved = worth(rule, rewards, np.array(labels)[owners], columns, order)
    assert moved == pytest.approx(found[order], rel=1e-9, abs=1e-9)
    assert trains(moved, owners[order]) == trains(found, owners)
    assert worth(rule, rewards.astype(np.float32), owners, columns) == pytest.approx(found, abs=1e-9)
    left = np.flatnonzero(np.isfinite(rewards))
    if len(left):
        assert worth(rule, rewards, owners, columns, left) == pytest.approx(found[left], abs=1e-9)


@pytest.mark.parametrize("name", sorted(RULES.keys() - BATCH))
@given(groups=ragged, seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_group_is_worth_the_same_alone(name, groups, seed):
    rewards, owners = flat(groups)
    columns = facts(len(rewards), seed, rewards)
    found = worth(RULES[name], rewards, owners, columns)
    for label in range(len(groups)):
        rows = np.flatnonzero(owners == label)
        assert worth(RULES[name], rewards, owners, columns, rows) == pytest.approx(found[rows], abs=1e-12)


@pytest.mark.parametrize("name", sorted(RULES.keys() - FROM_ZERO))
@given(groups=ragged, seed=st.integers(0, 99), offset=st.sampled_from([-3.0, 1e6]))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_an_offset_of_the_rewards_changes_nothing(name, groups, seed, offset):
    rewards, owners = flat(groups)
    columns = facts(len(rewards), seed, rewards)
    found = worth(RULES[name], rewards, owners, columns)
    moved = worth(RULES[name], rewards + offset, owners, columns)
    assert moved == pytest.approx(found, abs=1e-6)
    assert trains(moved, owners) == trains(found, owners)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("value", [0.0, 1.0, 0.9, 0.1])
def test_equal_rollouts_have_no_signal(name, value):
    """Seven rollouts alike in everything, in float32, whose mean is not their value: exactly 0."""
    rewards, owners = np.full(14, value, np.float32), np.repeat([0, 1], 7)
    columns = {key: values[[0] * 14] for key, values in facts(14, 0, rewards).items()}
    found = worth(RULES[name], rewards, owners, columns)
    if name == "raft":
        assert found == pytest.approx(rewards)
    else:
        assert found.tolist() == [0.0] * 14


@pytest.mark.parametrize("name", sorted(RULES.keys() - NO_GROUP - {"whitened, baseline, tokens"}))
def test_single_rollouts_and_groups_without_signal_get_nothing_beside_others(name):
    rewards = np.array([1.0, 1, 1, 0, 0, 1, 0, 1, np.nan])
    owners = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])  # all right, all wrong, mixed, single
    columns = facts(9, 0, rewards)
    for key in ("lengths", "scores", "answers", "embeddings"):
        columns[key] = columns[key][[0] * 9]
    found = worth(RULES[name], rewards, owners, columns)
    assert (found[[0, 1, 2, 3, 4, 7, 8]] == 0).all()
    assert found[5] > 0 and (found[6] < 0 or name == "reinforce_rej")


@pytest.mark.parametrize("name", RULES)
def test_no_rows_at_all(name):
    columns = facts(2, 0, [0.0, 0.0])
    assert len(worth(RULES[name], np.zeros(2), np.zeros(2, int), columns, np.zeros(0, int))) == 0
    nothing = worth(RULES[name], np.full(2, np.nan), np.zeros(2, int), columns)
    assert nothing.tolist() == [0.0, 0.0]
