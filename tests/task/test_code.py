import itertools
from random import Random

import pytest

from winnow import errors
from winnow.reward import Item
from winnow.reward.code import Tests, isolation
from winnow.task import code
from winnow.task.code_problems import LEVELS, problems, values

pytestmark = pytest.mark.skipif(not isolation().available, reason=f"isolation is {isolation().describe()}")


@pytest.fixture(scope="module")
def loaded():
    return code.load(0, {})


@pytest.mark.parametrize("level", LEVELS)
def test_words_code_and_result_agree(level):
    by_words = {}
    for problem in itertools.islice(problems(level, Random(f"test/{level}")), 300):
        assert problem.level == level
        assert by_words.setdefault(problem.words, problem.code) == problem.code
        for draw in range(3):
            given = values(problem.names, Random(draw))
            assert eval(problem.code, dict(given)) == problem.compute(given)


def test_solutions_pass_and_others_do_not(loaded):
    prompts = loaded.test[:20]
    verdicts = loaded.reward.score([Item(prompt, prompt.answer) for prompt in prompts])
    assert [verdict.outcome for verdict in verdicts] == [1.0] * len(prompts)
    for wrong in ("0", "None", "x", "", "a+"):
        verdicts = loaded.reward.score([Item(prompt, wrong) for prompt in prompts])
        assert [verdict.outcome for verdict in verdicts] == [0.0] * len(prompts)


def test_tests_tell_near_misses_apart(loaded):
    """The solution of another problem of the level passes only where the two are the same function."""
    drawn = [values(("a", "b"), Random(draw)) for draw in range(20)]
    prompts = [prompt for prompt in loaded.test if prompt.fields["level"] == "arithmetic/0"][:12]
    pairs = [(a, b) for a in prompts for b in prompts if a is not b]
    verdicts = loaded.reward.score([Item(a, b.answer) for a, b in pairs])
    for (a, b), verdict in zip(pairs, verdicts, strict=True):
        same = all(eval(a.answer, dict(given)) == eval(b.answer, dict(given)) for given in drawn)
        assert verdict.outcome == float(same), (a.answer, b.answer)


def test_hundreds_of_distinct_problems_and_disjoint_splits(loaded):
    train = {prompt.fields["words"] for prompt in loaded.train}
    test = {prompt.fields["words"] for prompt in loaded.test}
    assert len(train) > 500
    assert len(test) == len(loaded.test) == 128
    assert train.isdisjoint(test)
    assert {prompt.fields["level"] for prompt in loaded.test} == set(LEVELS)


def test_every_row_can_be_judged(loaded):
    for prompt in (*loaded.train, *loaded.test):
        assert loaded.reward.unreadable_fields(prompt.fields) == ""
        assert len(Tests.of(prompt.fields["tests"]).cases) == 6


def test_seed_decides():
    small = {"train_size": 16, "test_size": 16}
    assert code.load(3, small).fingerprint == code.load(3, small).fingerprint
    assert code.load(3, small).fingerprint != code.load(4, small).fingerprint


def test_whole_functions_in_blocks():
    loaded = code.load(0, {"train_size": 8, "test_size": 8, "form": "block"})
    prompt = loaded.test[0]
    assert "```python" in prompt.text
    head = prompt.text.partition("`")[2].partition("`")[0]
    answer = f"Here:\n```python\ndef {head}:\n    return {prompt.answer}\n```"
    assert loaded.reward.score([Item(prompt, answer)])[0].outcome == 1.0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sise": 3}, "unknown option of the task 'code' 'sise'"),
        ({"test_size": 0}, "whole number from 1 to 256"),
        ({"cases": True}, "whole number from 1 to 50"),
        ({"form": "blocks"}, "did you mean 'block'"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises(errors.ConfigError, match=says):
        code.load(0, options)
