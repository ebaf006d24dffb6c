import pickle

import pytest

from winnow import errors
from winnow.reward import ChecksColumns, ChecksGolds, Item
from winnow.reward.code import Code, Isolation, Tests, verify
from winnow.reward.code import reward as module
from winnow.rollout import Prompt

TESTS = {"function": "f", "cases": [{"args": [1], "expected": 2}, {"args": [2], "expected": 3}]}
GOOD, HALF = "```python\ndef f(x): return x + 1\n```", "```python\ndef f(x): return 2\n```"


def item(completion, tests=TESTS, answer=None, **fields):
    return Item(Prompt("p", "write f", answer=answer, fields={"tests": tests, **fields}), completion)


@pytest.mark.usefixtures("isolated", "no_leftovers")
class TestIsolated:
    def test_scores_in_order(self):
        verdicts = Code(jobs=3).score([item(GOOD), item(HALF), item("no code at all"), item(GOOD), item("")] * 2)
        assert [verdict.score for verdict in verdicts] == [1.0, 0.5, 0.0, 1.0, 0.0] * 2
        assert [verdict.outcome for verdict in verdicts] == [1.0, 0.0, 0.0, 1.0, 0.0] * 2
        assert verdicts[2].reason.startswith("syntax error")
        assert verdicts[4].reason == "no code found"
        assert Code().score([]) == []

    def test_one_job_and_many_agree(self):
        items = [item(completion) for completion in (GOOD, HALF, "```\nimport os; os._exit(1)\n```")] * 4
        assert Code(jobs=1).score(items) == Code(jobs=4).score(items)

    def test_unreadable_tests_are_unscorable(self):
        for tests in (None, {}, "assert g(x)"):
            [verdict] = Code().score([item(GOOD, tests)])
            assert (verdict.score, verdict.outcome) == (None, None)
            assert verdict.reason.startswith("tests: ")

    def test_tests_in_the_gold_answer(self):
        reward = Code(tests_column="answer")
        assert reward.needs_gold
        [verdict] = reward.score([item(GOOD, None, answer='["assert f(1) == 2"]')])
        assert verdict.outcome == 1.0
        assert reward.unreadable("assert f(1) == 2") == ""
        assert "found int" in reward.unreadable("42")
        reward.check_columns([], has_answers=True)
        with pytest.raises(errors.ConfigError, match="gold answer"):
            reward.check_columns([], has_answers=False)

    def test_continues_the_prompt_or_a_column(self):
        prompt = Prompt("p", "def f(x):\n    return ", fields={"tests": TESTS, "head": "def f(y):\n  return 1 + "})
        [verdict] = Code(extract="continue").score([Item(prompt, "x + 1\nprint(f(1))")])
        assert verdict.outcome == 1.0
        [verdict] = Code(extract="continue", prefix_column="head").score([Item(prompt, "y")])
        assert verdict.outcome == 1.0

    def test_rows_are_checked_at_load(self):
        reward = Code()
        assert isinstance(reward, ChecksColumns)
        assert isinstance(reward, ChecksGolds)
        assert not reward.needs_gold
        assert reward.unreadable("anything") == ""
        assert reward.unreadable_fields({"tests": TESTS}) == ""
        assert "unknown key" in reward.unreadable_fields({"tests": {"case": []}})
        assert "found nothing" in reward.unreadable_fields({})
        reward.check_columns(["tests"], has_answers=False)
        with pytest.raises(errors.ConfigError, match="needs the column 'tests', did you mean 'test'"):
            reward.check_columns(["test"], has_answers=True)
        assert "'head'" in Code(extract="continue", prefix_column="head").unreadable_fields({"tests": TESTS})

    def test_can_be_sent_to_a_worker(self):
        reward = pickle.loads(pickle.dumps(Code(timeout=3.0)))
        assert reward == Code(timeout=3.0)
        assert reward.name == "code"
        assert reward.on_timeout == "zero"
        assert reward.notes == ()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"timeout": 0}, "timeout must lie in"),
        ({"memory_mb": 1}, "memory_mb must lie in"),
        ({"max_output": 0}, "max_output must lie in"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"prefix_column": "head"}, "extract='continue' only"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises(errors.ConfigError, match=says):
        Code(unsafe=True, **options)


def test_without_isolation_it_refuses(monkeypatch):
    monkeypatch.setattr(module, "isolation", lambda: Isolation(False, (), ("no user namespaces",)))
    for call in (Code, lambda: verify("def f(x): return x", Tests.of(TESTS))):
        with pytest.raises(errors.ConfigError) as caught:
            call()
        assert "no user namespaces" in str(caught.value)
        assert "--unsafe-code" in str(caught.value)
    assert "without isolation" in Code(unsafe=True).notes[0]
    assert verify("def f(x): return x + 1", Tests.of(TESTS), unsafe=True).outcome == 1.0
