import numpy as np
import pytest

import winnow
from winnow.candidates import Candidates
from winnow.curriculum import Greso
from winnow.feedback import Feedback


def visit(rule, means):
    """Tell a rule of one step in which prompt i had mean outcome means[i]."""
    mean = np.asarray(means, float)
    size = len(mean)
    ones = np.full(size, 8)
    signal = (mean > 0) & (mean < 1)
    nothing = np.zeros(0)
    rule.observe(
        Feedback(Candidates.of(np.arange(size)), ones, ones, (mean * 8).astype(int), mean, signal, mean, nothing,
                 nothing, np.zeros(0, int))
    )  # fmt: skip


CASES = [  # trace, and the skip probabilities easy, hard, combined of selection.md 18.5
    ([], 0, 0, 0),
    ([0.5], 0, 0, 0),
    ([1], 0.5, 0, 0.5),
    ([1, 1], 0.75, 0, 0.75),
    ([0.5, 1, 1, 1], 0.875, 0, 0.875),
    ([1, 1, 0.5], 0, 0, 0),
    ([1] * 10, 0.99, 0, 0.99),
    ([0], 0, 0.5, 0.5),
    ([0.1, 0.05], 0, 0.75, 0.75),
    ([0.5, 0, 0], 0, 0.75, 0.75),
    ([0, 0, 0], 0, 0.875, 0.875),
    ([0, 0.12], 0, 0, 0),
]


@pytest.mark.parametrize(("trace", "easy", "hard", "both"), CASES)
def test_skip_probabilities(trace, easy, hard, both):
    rule = Greso(pace=0.0)
    for mean in trace:
        visit(rule, [mean])
    skip_easy, skip_hard = rule.skip(np.array([0]))
    assert (skip_easy[0], skip_hard[0]) == pytest.approx((easy, hard))
    assert 1 - (1 - skip_easy[0]) * (1 - skip_hard[0]) == pytest.approx(both)


def test_probabilities_move_towards_their_targets_from_the_second_visit_on():
    rule = Greso()
    visit(rule, [1.0] + [0.5] * 11)  # first visits change nothing
    assert rule._pass == {"easy": 0.5, "hard": 0.5}
    visit(rule, [1.0] + [0.5] * 10)  # 1/11 = .0909 easy, above the target of .0833
    assert rule._pass == pytest.approx({"easy": 0.49, "hard": 0.51})
    for _ in range(200):
        visit(rule, [1.0] * 4 + [0.0] * 8)
    assert rule._pass == pytest.approx({"easy": 0.05, "hard": 0.05})
    for _ in range(200):
        visit(rule, [0.5] * 12)
    assert rule._pass == pytest.approx({"easy": 0.95, "hard": 0.95})


def test_expected_visits_until_a_retry():
    rule = Greso(pace=0.0)
    waits = []
    for _ in range(8):
        visit(rule, [1.0])
        waits.append(1 / (1 - rule.skip(np.array([0]))[0][0]))
    assert waits == pytest.approx([2, 4, 8, 16, 32, 64, 100, 100])


def test_a_step_passes_over_solved_prompts_and_visits_no_more_than_it_must():
    recipe = winnow.recipe("greso", pool=1, n=4)
    for _ in range(12):  # prompts 0 to 3 are solved, so skipped in 99 of 100 visits
        visit(recipe.curriculum, [1.0] * 4)
    step = recipe.begin(16, seed=3, ids=range(16))
    opened = [prompt for prompt, _ in step.ask()]
    assert opened == list(range(4, 12))
    step.tell(np.repeat(opened, 4), [0.0, 1.0] * 16)
    batch = step.finish()
    assert batch.visited == 12 and batch.counts.tolist() == [0] * 4 + [4] * 8 + [0] * 4


def test_memory_goes_through_a_checkpoint():
    rule, again = Greso(), Greso()
    visit(rule, [1.0, 0.0, 0.5])
    visit(rule, [1.0, 0.0, 0.5])
    again.load_state_dict(rule.state_dict())
    assert again.state_dict() == rule.state_dict()
    assert np.array_equal(again.skip(np.arange(4)), rule.skip(np.arange(4)))
