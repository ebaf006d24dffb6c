from collections import Counter
from random import Random

import pytest

from winnow import errors, task
from winnow.reward import Item
from winnow.task import mix
from winnow.task.arithmetic import LEVELS, problems


@pytest.fixture(scope="module")
def default():
    return task.load("mix", seed=3)


def verdicts(loaded, prompts, completions):
    return loaded.reward.score([Item(p, c) for p, c in zip(prompts, completions, strict=True)])


def test_default_sizes_and_records(default):
    assert len(default.train) == 4000
    assert len(default.test) == 256
    assert default.train[17].id == "train:17"
    assert {p.fields["family"] for p in default.train} == {"chain_sum", "simple_equations", "countdown"}
    assert all(p.fields["level"] in LEVELS for p in default.train)
    assert default.policy is not None


def test_train_and_test_share_no_text(default):
    assert not {p.text for p in default.train} & {p.text for p in default.test}


def test_seed_decides_everything():
    small = {"train_size": 50, "test_size": 20}
    first, again, other = (task.load("mix", seed=s, options=small) for s in (1, 1, 2))
    assert first.train == again.train
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != other.fingerprint
    assert first.test != other.test


def test_test_split_does_not_depend_on_the_size_of_train():
    a = task.load("mix", options={"train_size": 10, "test_size": 20})
    b = task.load("mix", options={"train_size": 500, "test_size": 20})
    assert a.test == b.test


@pytest.mark.parametrize("spread", [0, 0.25, 0.5, 1])
def test_level_counts_follow_the_shares(spread):
    loaded = task.load("mix", options={"spread": spread, "train_size": 1000, "test_size": 8})
    counts = Counter(p.fields["level"] for p in loaded.train)
    shares = mix.shares(spread)
    assert sum(shares.values()) == pytest.approx(1)
    assert set(counts) == set(shares)
    assert all(abs(counts[level] - 1000 * share) < 1 for level, share in shares.items())


def test_every_gold_is_right_and_other_answers_are_not(default):
    prompts = default.train[:500]
    assert all(v.outcome == v.score == 1.0 for v in verdicts(default, prompts, [p.answer for p in prompts]))
    wrong = verdicts(default, prompts, [f"{p.answer}1" for p in prompts])
    assert all(v.outcome == v.score == 0.0 for v in wrong)
    empty = verdicts(default, prompts, [""] * 500)
    assert all(v.score == 0.0 for v in empty)


def test_countdown_takes_any_right_expression(default):
    prompt = next(p for p in default.train if p.fields["level"] == "countdown/0")
    turned = f"({prompt.answer})"
    (verdict,) = verdicts(default, [prompt], [turned])
    assert verdict.score == 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_golds_satisfy_the_scorer_of_reasoning_gym(level):
    gym = pytest.importorskip("reasoning_gym")
    stream = problems(level, Random(0))
    for _ in range(50):
        problem = next(stream)
        score = gym.get_score_answer_fn(problem.family)
        entry = {
            "answer": problem.answer,
            "metadata": {"numbers": list(problem.numbers), "target": problem.target},
        }
        assert score(answer=problem.answer, entry=entry) == 1.0


def test_texts_have_the_form_of_the_compact_renderers():
    from winnow.task import render

    assert render.chain_sum({"expression": "4 - 1 + 10"}) == "4-1+10="
    assert render.simple_equations({"equation": "3*k + 5 = 20", "variable": "k"}) == "3*x+5=20:"
    assert render.countdown({"numbers": [19, 9, 3], "target": 13}) == "19,9,3:13="
    ends = {"chain_sum": "=", "simple_equations": ":", "countdown": "="}
    for level in LEVELS:
        problem = next(problems(level, Random(1)))
        assert problem.text.endswith(ends[problem.family])
        assert " " not in problem.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spred": 0.5}, "did you mean 'spread'"),
        ({"spread": 1.5}, "spread"),
        ({"spread": "wide"}, "spread"),
        ({"spread": float("nan")}, "spread"),
        ({"train_size": 0}, "train_size"),
        ({"test_size": 10_000}, "test_size"),
        ({"test_size": 2.5}, "test_size"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(errors.ConfigError, match=words):
        task.load("mix", options=options)


@pytest.mark.parametrize("spec", ["mix", "reasoning-gym:chain_sum"])
def test_built_in_tasks_bring_their_own_reward(spec):
    with pytest.raises(errors.ConfigError, match="brings its own reward"):
        task.load(spec, options={"reward": "nope"})
