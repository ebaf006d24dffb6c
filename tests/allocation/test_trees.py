import numpy as np
import pytest

import winnow
from winnow.advantage.segments import depth_scores, estimated_steps, value_steps
from winnow.allocation.trace import gains
from winnow.budget import Budget
from winnow.errors import ConfigError
from winnow.tree import Tree

RECIPES = ["branch", "trace", "vineppo"]


def play(recipe, prompts=6, budget=None, seed=0, shuffle=None, rates=None, longest=12):
    """Play a step in which every rollout has own tokens and a coin; return the step and its batch."""
    rng = np.random.default_rng(seed)
    step = recipe.begin(prompts, budget=budget, seed=seed, ids=range(prompts))
    total = []  # tokens of the whole path of every rollout told
    while not step.done:
        requests = [number for number, count in step.ask() for _ in range(count)]
        if shuffle is not None:
            requests = list(np.random.default_rng(shuffle).permutation(requests))
        for number in requests:
            fork = step.fork(int(number))
            before = 0 if fork is None else total[fork.row][0] + fork.cut
            own = int(rng.integers(1, max(2, longest - before + 1)))
            total.append((before, own))
            prompt = int(step._tree.root(np.array([number]))[0])
            rate = 0.5 if rates is None else rates[prompt]
            step.tell([number], [float(rng.random() < rate)], tokens=[own])
    return step, step.finish()


def tree_of(*rollouts, prompts=1):
    """Build a tree of (number told, outcome, own tokens); numbers from ``prompts`` on are (row, cut) made before."""
    tree = Tree(prompts)
    for number, outcome, length in rollouts:
        if isinstance(number, tuple):
            number = tree.fork(*number)
        tree.add(np.array([number]), np.array([outcome], float), np.array([length]))
    return tree


def test_values_are_means_of_what_lies_below():
    # a: 10 tokens, right; b forks off a at 4, wrong; c forks off b at 2, right; d at the prompt, wrong.
    tree = tree_of((0, 1, 10), ((0, 4), 0, 5), ((1, 2), 1, 3), (0, 0, 7))
    prompt, at_fork, _ = winnow.tree.values(tree)
    assert prompt[0] == 0.5
    assert at_fork[0] == pytest.approx([2 / 3]) and at_fork[1] == pytest.approx([0.5])
    steps = value_steps(tree)
    assert steps[0] == pytest.approx([2 / 3 - 0.5, 1 - 2 / 3])
    assert steps[1] == pytest.approx([0.5 - 2 / 3, 0 - 0.5])
    assert steps[2] == pytest.approx([1 - 0.5])
    assert steps[3] == pytest.approx([-0.5])
    assert [end.tolist() for end in tree.ends()] == [[4, 10], [2, 5], [3], [7]]


@pytest.mark.parametrize("seed", range(10))
def test_along_a_path_the_steps_add_up_to_the_outcome_minus_the_mean(seed):
    step, _ = play(winnow.recipe("branch", roots=2, levels=3), prompts=3, seed=seed)
    tree = step._tree
    steps, (prompt, at_fork, outcome) = value_steps(tree), winnow.tree.values(tree)
    for row, leaf in enumerate(tree.leaves):
        begin = tree.begin(row)
        start = prompt[leaf.prompt] if begin is None else at_fork[begin[0]][begin[1]]
        assert steps[row].sum() == pytest.approx(outcome[row] - start)


def test_d10_depths_are_normalised_one_by_one():
    # Two halves, mean 0.5 and 0; below the first two leaves 1 and 0, below the second 0 and 0.
    tree = tree_of((0, 1, 4), (0, 0, 4), ((0, 2), 0, 2), ((1, 2), 0, 2))
    scores = depth_scores(tree)
    assert [scores[0][0], scores[1][0]] == pytest.approx([1, -1])
    leaves = [scores[0][1], scores[2][0], scores[1][1], scores[3][0]]
    assert leaves == pytest.approx([1.732051, -0.577350, -0.577350, -0.577350], abs=1e-6)


def test_d10_vineppo_steps_of_estimated_values():
    # V = .2, .6, .4 at three borders, five continuations each; the rollout is right.
    rollouts = [(0, 1, 6)]
    for cut, wins in ((0, 1), (2, 3), (4, 2)):
        rollouts += [((0, cut), float(k < wins), 3) for k in range(5)]
    steps = estimated_steps(tree_of(*rollouts))
    # The first stretch, from 0 to the fork at 0, is empty.
    assert steps[0] == pytest.approx([0.0, 0.4, -0.2, 0.6])
    assert all(not step.any() for step in steps[1:])


def test_an_unscorable_rollout_teaches_nothing_and_is_in_no_value():
    tree = tree_of((0, np.nan, 4), ((0, 2), 1, 2), (0, 0, 4))
    assert winnow.tree.values(tree)[0][0] == 0.5
    steps = value_steps(tree)
    assert steps[0].tolist() == [0, 0] and steps[1] == pytest.approx([0.0]) and steps[2] == pytest.approx([-0.5])
    assert all(np.isfinite(step).all() for step in depth_scores(tree) + estimated_steps(tree))


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("rollouts", [2, 7, 13, 30, 48])
def test_budgets_in_rollouts_are_exact(name, rollouts):
    _, batch = play(winnow.recipe(name), budget=Budget(rollouts=rollouts), seed=rollouts)
    assert batch.ledger.rollouts == rollouts
    assert batch.counts.sum() == rollouts


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("tokens", [24, 100, 333])
def test_budgets_in_tokens_are_never_exceeded(name, tokens):
    _, batch = play(winnow.recipe(name), budget=Budget(tokens=tokens, longest=12), seed=tokens)
    assert batch.ledger.tokens <= tokens
    assert tokens - batch.ledger.tokens < 12 or batch.reason


@pytest.mark.parametrize("name", RECIPES)
def test_stretches_cover_the_own_tokens_of_every_kept_row(name):
    step, batch = play(winnow.recipe(name), seed=3)
    assert batch.stretches is not None and len(batch.stretches) == len(batch.rows)
    for place, row in enumerate(batch.rows.tolist()):
        own = step._tree.leaves[row].length
        assert np.shape(batch.per_token(place)) == (own,)
        assert batch.advantages[place] == pytest.approx(np.mean(batch.per_token(place)))
    assert batch.kept_tokens == sum(step._tree.leaves[row].length for row in batch.rows.tolist())


def test_vineppo_trains_on_the_roots_alone():
    step, batch = play(winnow.recipe("vineppo"), seed=1)
    assert all(step._tree.leaves[row].depth == 0 for row in batch.rows.tolist())
    assert batch.ledger.discarded == batch.ledger.rollouts - len(batch.rows) == 36


@pytest.mark.parametrize("name", RECIPES)
def test_numbers_of_forks_come_after_all_candidates(name):
    recipe = winnow.recipe(name)
    step = recipe.begin(3, ids=[5, 6, 7])
    first = step.ask()
    assert all(number < 3 and step.fork(number) is None for number, _ in first)
    for number, count in first:
        step.tell([number] * count, [0.0, 1.0, 0.0, 1.0][:count], tokens=[9] * count)
    second = step.ask()
    assert second and all(number >= 3 for number, _ in second)
    fork = step.fork(second[0][0])
    assert fork is not None and 0 <= fork.cut < 9
    with pytest.raises(ValueError, match="not in this step"):
        step.tell([999], [0.0], tokens=[1])


def test_trace_gives_new_rollouts_to_uncertain_prompts_and_open_cuts():
    assert gains(np.array([0.5]), 1, 3)[0] == pytest.approx([0.5, 0.25, 0.125])
    recipe = winnow.recipe("trace", n=12)
    rates = [0.0, 0.0, 0.5, 1.0]
    for seed in range(20):
        _, batch = play(recipe, prompts=4, seed=seed, rates=rates)
    assert batch.counts[2] == batch.counts.max() > 12
    again = winnow.recipe("trace", n=12)
    again.load_state_dict(recipe.state_dict())
    assert again.state_dict() == recipe.state_dict()


def test_trees_refuse_hosts_that_cannot_branch_and_sizes_they_cannot_have():
    for name in RECIPES:
        rule = winnow.recipe(name).allocation
        with pytest.raises(ConfigError, match="host that can branch"):
            rule.begin(None, 8, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="multiple of 4"):
        winnow.recipe("branch", n=6)
    with pytest.raises(ConfigError, match="multiple of 4"):
        winnow.recipe("vineppo", n=10)
    assert winnow.recipe("vineppo", n=16).allocation.roots == 4
    assert winnow.recipe("branch", credit="value").advantage.name == "segments:value"
