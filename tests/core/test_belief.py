import numpy as np
import pytest

from winnow.belief import Belief
from winnow.candidates import Candidates
from winnow.feedback import Feedback


def told(ids, groups):
    """Feedback of groups of outcomes, None for unscorable rollouts."""
    values = [np.nan if x is None else float(x) for group in groups for x in group]
    owners = [place for place, group in enumerate(groups) for _ in group]
    finite = [[x for x in group if x is not None] for group in groups]
    return Feedback(
        prompts=Candidates.of(ids),
        counts=np.array([len(group) for group in groups]),
        valid=np.array([len(group) for group in finite]),
        successes=np.array([sum(x > 0.5 for x in group) for group in finite]),
        mean=np.array([np.mean(group) if group else np.nan for group in finite]),
        signal=np.array([len(set(group)) > 1 for group in finite]),
        worth=np.zeros(len(groups)),
        rewards=np.array(values),
        outcomes=np.array(values),
        owners=np.array(owners, np.int64),
    )


def observe(belief, feedback, first=4):
    belief.observe(feedback, np.full(len(feedback), first))


def test_what_a_prompt_showed_adds_to_the_prior_and_fades():
    belief = Belief(0.5)
    observe(belief, told([7, 8], [[1, 1, 0, 1], [0, 0]]))
    a, b = belief.prior
    found = np.array(belief.of(np.array([7, 8, 9]))).T
    assert found == pytest.approx(np.array([[a + 3, b + 1], [a, b + 2], [a, b]]))
    observe(belief, told([7], [[0, 0]]))
    a, b = belief.prior
    assert np.ravel(belief.of(np.array([7]))) == pytest.approx([a + 1.5, b + 2.5])


@pytest.mark.parametrize(("a", "b"), [(0.4, 0.8), (2.0, 2.0), (0.3, 0.2)])
def test_the_prior_finds_the_distribution_of_pass_rates(a, b):
    rng, belief = np.random.default_rng(0), Belief(0.5)
    for step in range(40):
        rates = rng.beta(a, b, 400)
        observe(belief, told(np.arange(400) + 400 * step, [list(map(int, rng.random(3) < p)) for p in rates]))
    found = belief.prior
    assert found == pytest.approx((a, b), rel=0.15)


def test_groups_that_go_on_for_their_outcomes_do_not_move_the_prior():
    """Hard prompts with forty failures count like any other: by their first request."""
    long, short = Belief(0.5), Belief(0.5)
    observe(long, told([0, 1], [[0] * 40, [1, 0]]))
    observe(short, told([0, 1], [[0] * 2, [1, 0]]))
    assert long.prior == short.prior


def test_the_order_within_the_first_request_does_not_move_the_prior():
    one, two = Belief(0.5), Belief(0.5)
    observe(one, told([0], [[1, 1, 0, 0, 1]]), first=3)
    observe(two, told([0], [[0, 1, 1, 1, 0]]), first=3)
    assert one.prior == two.prior


def test_unscorable_rollouts_count_nowhere():
    some, none = Belief(0.5), Belief(0.5)
    observe(some, told([0, 1], [[None, 1, None, 0], [None]]))
    observe(none, told([0], [[1, 0]]))
    assert some.prior == none.prior
    assert np.array_equal(some.of(np.array([0, 1])), none.of(np.array([0, 1])))


@pytest.mark.parametrize("outcome", [0, 1])
def test_a_run_without_contrast_keeps_a_usable_prior(outcome):
    belief = Belief(0.5)
    for step in range(200):
        observe(belief, told([step], [[outcome] * 4]))
    a, b = belief.prior
    assert a > 0 and b > 0 and (a > b) == bool(outcome)


def test_state_is_exact():
    belief, other = Belief(0.5), Belief(0.5)
    observe(belief, told([3, 4], [[1, 0, 0], [0, 0]]))
    other.load_state_dict(belief.state_dict())
    assert other.prior == belief.prior and np.array_equal(other.of(np.array([3, 4, 5])), belief.of(np.array([3, 4, 5])))
