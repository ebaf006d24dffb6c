import pickle

import pytest

pytest.importorskip("reasoning_gym")

from winnow import errors, task
from winnow.reward import Item
from winnow.task import gym

SMALL = {"train_size": 60, "test_size": 30}


def test_compact_where_there_is_a_renderer():
    loaded = task.load("reasoning-gym:chain_sum", options=SMALL)
    assert loaded.name == "reasoning-gym:chain_sum"
    assert len(loaded.train) == 60
    assert len(loaded.test) == 30
    assert loaded.test[0].id == "test:0"
    assert all(p.text.endswith("=") and " " not in p.text for p in loaded.train)


def test_full_question_on_request_and_without_a_renderer():
    full = task.load("reasoning-gym:chain_sum", options={**SMALL, "compact": False})
    assert full.train[0].text.startswith("State the final answer")
    other = task.load("reasoning-gym:gcd", options=SMALL)
    assert "Greatest Common Divisor" in other.train[0].text


def test_train_and_test_never_share_an_item():
    options = {**SMALL, "max_terms": 2, "max_digits": 1, "train_size": 800}
    loaded = task.load("reasoning-gym:chain_sum", seed=5, options=options)
    test = [p.text for p in loaded.test]
    assert len(set(test)) == len(test)
    assert not set(test) & {p.text for p in loaded.train}
    assert "distinct questions" in loaded.notes[0]


def test_seeds_are_blocks_apart():
    options = {**SMALL, "min_terms": 4, "min_digits": 2}
    # Item i of seed s is item 0 of seed s + i: neighbouring seeds of ours must not show it.
    one, two = (task.load("reasoning-gym:chain_sum", seed=s, options=options) for s in (0, 1))
    assert not {p.text for p in (*one.train, *one.test)} & {p.text for p in (*two.train, *two.test)}


def test_same_seed_same_task():
    first, again = (task.load("reasoning-gym:gcd", seed=4, options=SMALL) for _ in range(2))
    assert first.fingerprint == again.fingerprint


def test_options_reach_the_family():
    loaded = task.load("reasoning-gym:chain_sum", options={**SMALL, "min_terms": 4, "max_terms": 4})
    assert all(p.fields["entry"]["metadata"]["num_terms"] == 4 for p in loaded.train)


def test_scores_are_thresholded():
    wrong = "1"
    options = {**SMALL, "min_numbers": 3, "max_numbers": 3}
    binary = task.load("reasoning-gym:countdown", options=options)
    raw = task.load("reasoning-gym:countdown", options={**options, "threshold": None})
    prompt = binary.test[0]
    assert [v.score for v in binary.reward.score([Item(prompt, wrong), Item(prompt, prompt.answer)])] == [0, 1]
    (verdict,) = raw.reward.score([Item(prompt, wrong)])
    assert 0 < verdict.score < 0.1


def test_a_scorer_that_raises_makes_a_wrong_answer():
    loaded = task.load("reasoning-gym:boxnet", options={"train_size": 2, "test_size": 1})
    prompt = loaded.train[0]
    assert prompt.answer is None
    (verdict,) = loaded.reward.score([Item(prompt, "0")])
    assert verdict.outcome == 0.0
    assert "raised TypeError" in verdict.reason


def test_untrusted_text_never_reaches_an_evaluating_scorer(tmp_path):
    loaded = task.load("reasoning-gym:spiral_matrix", options={"train_size": 2, "test_size": 1})
    mark = tmp_path / "mark"
    (verdict,) = loaded.reward.score([Item(loaded.train[0], f"open('{mark}', 'w')")])
    assert verdict.score == 0.0
    assert not mark.exists()


def test_families_print_nothing(capsys, monkeypatch):
    loaded = task.load("reasoning-gym:chain_sum", options=SMALL)

    class Loud:
        def score_answer(self, answer, entry):
            print("dots")
            return 1.0

    loaded.reward._scorer = Loud()
    loaded.reward.score([Item(loaded.train[0], "1")])
    assert capsys.readouterr().out == ""


def test_reward_survives_pickling():
    loaded = task.load("reasoning-gym:chain_sum", options=SMALL)
    prompt = loaded.train[0]
    item = Item(prompt, prompt.answer)
    loaded.reward.score([item])
    (verdict,) = pickle.loads(pickle.dumps(loaded.reward)).score([item])
    assert verdict.score == 1.0


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("chain_sums", {}, "did you mean 'chain_sum'"),
        ("composite", {}, "unknown family"),
        ("chain_sum", {"min_term": 2}, "did you mean 'min_terms'"),
        ("chain_sum", {"min_terms": 0}, "min_terms must be positive"),
        ("chain_sum", {"train_size": 0}, "train_size"),
        ("chain_sum", {"max_terms": 2, "max_digits": 1, "test_size": 300}, "lower test_size"),
        ("gcd", {"compact": True}, "no compact form"),
        ("chain_sum", {"threshold": "high"}, "threshold"),
    ],
)
def test_bad_requests(name, options, words):
    with pytest.raises(errors.ConfigError, match=words):
        gym.load(name, 0, options)


def test_a_pool_that_test_uses_up_is_an_error():
    options = {"min_terms": 1, "max_terms": 1, "max_digits": 1, "test_size": 10, "train_size": 10}
    with pytest.raises(errors.ConfigError, match="are test items"):
        gym.load("chain_sum", 0, options)
