import asyncio
import logging
import pickle

import numpy as np
import pytest

from winnow import reward
from winnow.errors import ConfigError, RewardError
from winnow.reward import Item
from winnow.rollout import Prompt

SOURCE = """
import numpy as np
from winnow.rollout import Verdict

calls = []

def one_for_all(completions, **kwargs):
    return [1.0]

def trl(completions, answer):
    calls.append((completions, answer))
    return [float(c == a) for c, a in zip(completions, answer)]

def single(completion, answer, difficulty=0, missing="default"):
    assert missing == "default"
    return float(completion == answer) + difficulty

def everything(completions, prompts, answers, messages, rollouts, **kwargs):
    calls.append(dict(completions=completions, prompts=prompts, answers=answers, messages=messages,
                      rollouts=rollouts, **kwargs))
    return [0.0] * len(completions)

def needs_level(completions, level):
    return [1.0] * len(completions)

def positional(completion, answer, /):
    return completion == answer

def listed(completions):
    return [VALUES[c] for c in completions]

def parsed(completions):
    return [float(c) for c in completions]

def parsed_one(completion):
    return float(completion)

async def awaited(completions, answer):
    return [float(c == a) for c, a in zip(completions, answer)]

async def awaited_one(completion):
    return float(completion)

def parts(completion):
    return {"score": 0.5, "outcome": True, "length": len(completion)}

def verdict(completion):
    return Verdict(0.25, 1.0, "fine", {"a": 1.0})

def bad_mapping(completion):
    return {"value": 1}

def array(completions):
    return np.arange(len(completions), dtype=np.float32)

def scalar(completions):
    return 0.5

def no_completion(text, gold):
    return 1.0

VALUES = {"nan": float("nan"), "inf": float("inf"), "text": "1.0", "true": True, "none": None,
          "float32": np.float32(0.5), "bool_": np.bool_(True), "array": np.array(1), "list": [1.0],
          "int": 3, "huge": 10**400, "large": -1e151}

def leaves(completions):
    raise SystemExit(0)

def leaves_one(completion):
    raise GeneratorExit

async def leaves_later(completion):
    raise SystemExit(0)

class Judge:
    def __call__(self, completion):
        return 1.0

judge = Judge()
not_callable = 3
"""


@pytest.fixture
def load(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)

    def build(name, **options):
        return reward.load(f"{tmp_path / 'mine.py'}:{name}", **options)

    return build


def items(*completions, answer="7", content="2 + 5", **fields):
    prompt = Prompt("train:3", content, answer, fields)
    return [Item(prompt, text, f"0/{draw}") for draw, text in enumerate(completions)]


@pytest.mark.parametrize("case", ["RWD-01"], indirect=True)
def test_one_value_is_never_broadcast(case, load):
    with pytest.raises(RewardError) as caught:
        load("one_for_all").score(items(*["x"] * case["input"]["n_completions"]))
    for part in ("one_for_all", *case["expected"]["message_must_name"][1:]):
        assert part.replace("expected 4", "expected 4 scores") in str(caught.value)


@pytest.mark.parametrize("case", ["RWD-02"], indirect=True)
def test_only_what_the_signature_names_is_passed(case, load):
    function = load("trl")
    prompt = Prompt("train:3", "2 + 5", "7", dict.fromkeys(case["input"]["extra_columns"], "raw"))
    assert [v.score for v in function.score([Item(prompt, "7"), Item(prompt, "8")])] == [1.0, 0.0]
    assert function._call.function.__globals__["calls"] == [(["7", "8"], ["7", "7"])]


@pytest.mark.parametrize("case", ["RWD-03"], indirect=True)
def test_completions_are_text_for_both_forms_of_prompt(case, load):
    function = load("everything")
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 5"}]
    function.score(items("7", level=1) + items("8", content=chat, level=2))
    [call] = function._call.function.__globals__["calls"]
    assert call == {
        "completions": ["7", "8"],
        "prompts": ["2 + 5", "Be brief.\n2 + 5"],
        "answers": ["7", "7"],
        "answer": ["7", "7"],
        "messages": [[{"role": "user", "content": "2 + 5"}], chat],
        "rollouts": ["0/0", "0/0"],
        "level": [1, 2],
    }


def test_function_of_one_item_and_defaults(load):
    assert [v.score for v in load("single").score(items("7", "8", difficulty=2))] == [3.0, 2.0]
    assert [v.score for v in load("single").score(items("7", "8"))] == [1.0, 0.0]
    assert [v.score for v in load("positional").score(items("7", "8"))] == [1.0, 0.0]
    assert [v.score for v in load("judge").score(items("7"))] == [1.0]


def test_missing_column_is_named_with_what_there_is(load):
    with pytest.raises(RewardError, match=r"needs_level asks for 'level'.*available: completions, .*difficulty"):
        load("needs_level").score(items("7", difficulty=2))
    with pytest.raises(ConfigError, match="needs_level asks for 'level'"):
        load("needs_level").check_columns(["difficulty"], has_answers=True)
    with pytest.raises(ConfigError, match=r"asks for 'answer'.*--answer-column"):
        load("trl").check_columns(["difficulty"], has_answers=False)
    load("needs_level").check_columns(["level"], has_answers=False)


def test_column_that_some_rows_lack_is_none_there(load):
    function = load("everything")
    function.score(items("7", level=1))
    function.score(items("8"))
    assert function._call.function.__globals__["calls"][1]["level"] == [None]


@pytest.mark.parametrize(
    ("value", "score"),
    [("none", None), ("true", 1.0), ("float32", 0.5), ("bool_", 1.0), ("array", 1.0), ("int", 3.0)],
)
def test_values_a_function_may_return(load, value, score):
    [verdict] = load("listed").score(items(value))
    assert verdict.score == score and type(verdict.score) is type(score)
    assert verdict.outcome is None


def test_nan_is_unscorable_with_a_warning(load, caplog):
    [verdict] = load("listed").score(items("nan"))
    assert verdict.score is None and "NaN" in verdict.reason
    assert "listed" in caplog.text and "train:3" in caplog.text and "NaN" in caplog.text


@pytest.mark.parametrize("value", ["inf", "text", "list", "huge", "large"])
@pytest.mark.parametrize("policy", ["unscorable", "zero", "raise"])
def test_values_outside_the_contract_are_errors_under_every_policy(load, value, policy):
    with pytest.raises(RewardError, match=r"listed, prompt train:3, rollout 0/0"):
        load("listed", on_error=policy).score(items(value))


def test_tensors_without_dimensions_are_numbers(load):
    torch = pytest.importorskip("torch")
    function = load("listed")
    function._call.function.__globals__["VALUES"] = {"t": torch.tensor(1), "h": torch.tensor(0.5, dtype=torch.bfloat16)}
    assert [v.score for v in function.score(items("t", "h"))] == [1.0, 0.5]


def test_mappings_verdicts_and_arrays(load):
    [mapped] = load("parts").score(items("abc"))
    assert (mapped.score, mapped.outcome, mapped.parts) == (0.5, 1.0, {"length": 3.0})
    [given] = load("verdict").score(items("abc"))
    assert (given.score, given.outcome, given.reason, given.parts) == (0.25, 1.0, "fine", {"a": 1.0})
    assert [v.score for v in load("array").score(items("a", "b"))] == [0.0, 1.0]
    with pytest.raises(RewardError, match="'score', found value"):
        load("bad_mapping").score(items("a"))
    with pytest.raises(RewardError, match="expected a list of 2 scores, got float"):
        load("scalar").score(items("a", "b"))


@pytest.mark.parametrize("case", ["RWD-04"], indirect=True)
@pytest.mark.parametrize("name", ["parsed", "parsed_one", "awaited_one"])
def test_one_bad_completion_costs_one_verdict(case, load, name, caplog):
    function = load(name)
    verdicts = function.score(items("1", "0", "one", "1"))
    assert [v.score for v in verdicts] == case["expected"]["rewards"]
    assert "ValueError" in verdicts[2].reason and "mine.py line" in verdicts[2].reason
    assert function.metrics() == case["expected"]["counter"]
    for part in ("ValueError", name, "train:3", "0/2"):
        assert part in caplog.text
    assert len(caplog.records) == 1


def test_error_policies(load):
    zero = load("parsed_one", on_error="zero").score(items("1", "one"))
    assert [v.score for v in zero] == [1.0, 0.0]
    with pytest.raises(RewardError, match=r"parsed_one raised ValueError.*train:3, rollout 0/1"):
        load("parsed_one", on_error="raise").score(items("1", "one"))
    with pytest.raises(ConfigError, match="did you mean 'zero'"):
        load("parsed_one", on_error="zeros")
    with pytest.raises(ConfigError, match="max_error_rate must be between 0 and 1, got 2"):
        load("parsed_one", max_error_rate=2)


@pytest.mark.parametrize("name", ["parsed", "parsed_one"])
def test_a_function_that_fails_everywhere_stops_with_the_first_traceback(load, name):
    with pytest.raises(RewardError) as caught:
        load(name).score(items(*["one"] * 8))
    message = str(caught.value)
    assert caught.value.exit_code == 3
    assert "8 of the latest 8" in message and "max_error_rate = 0.5" in message
    assert "mine.py" in message and "ValueError" in message
    assert "winnow/reward" not in message


def test_error_rate_counts_over_calls_and_tolerates_half(load):
    function = load("parsed_one")
    for _ in range(8):
        function.score(items("1", "one"))
    with pytest.raises(RewardError, match="9 of the latest 17"):
        function.score(items("one"))


def test_log_is_bounded_and_the_counter_is_not(load, caplog):
    function = load("parsed_one", max_error_rate=1.0)
    function.score(items(*["one"] * 50))
    assert len(caplog.records) == 20 and "only counted" in caplog.records[-1].getMessage()
    assert function.metrics() == {"reward_errors": 50.0}


def test_coroutines_are_awaited_with_and_without_a_running_loop(load):
    async def inside():
        return load("awaited").score(items("7", "8"))

    expected = [1.0, 0.0]
    assert [v.score for v in load("awaited").score(items("7", "8"))] == expected
    assert [v.score for v in asyncio.run(inside())] == expected


def test_pickled_function_scores_the_same(load):
    function = pickle.loads(pickle.dumps(load("trl", on_error="zero")))
    assert [v.score for v in function.score(items("7", "8"))] == [1.0, 0.0]


@pytest.mark.parametrize("name", ["leaves", "leaves_one", "leaves_later"])
def test_a_function_cannot_end_the_process(load, name):
    with pytest.raises(RewardError, match=rf"{name} raised \w+Exit.*train:3, rollout 0/0"):
        load(name).score(items("1", "2"))


@pytest.mark.parametrize("statement", ["import sys; sys.exit(0)", "raise GeneratorExit"])
def test_a_module_that_leaves_at_import_is_bad_input(tmp_path, monkeypatch, statement):
    (tmp_path / "leaving_reward.py").write_text(f"x = 1\n{statement}\n")
    monkeypatch.chdir(tmp_path)
    for spec in ("leaving_reward.py:f", "leaving_reward:f"):
        with pytest.raises(ConfigError, match=r"importing .*leaving_reward.* raised \w+Exit"):
            reward.load(spec)


def test_nothing_to_score(load):
    assert load("trl").score([]) == []


def test_function_without_completion_is_refused(load):
    with pytest.raises(ConfigError, match=r"no_completion\(text, gold\) takes no completion"):
        load("no_completion")


def test_broken_sources_are_bad_input(tmp_path, load):
    load("trl")
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "failing.py").write_text("x = 1\n\nraise ValueError('no')\n")
    for spec, message in {
        "mine.py:trll": "has no function 'trll', did you mean 'trl'",
        "mine.py:Judge": "is a class",
        "mine.py:not_callable": "is a int",
        "mien.py:trl": r"no file .*mien.py, did you mean 'mine.py'",
        "broken.py:f": "broken.py line 2",
        "failing.py:f": "failing.py line 3 raised ValueError: no",
        "mine.py": "names a file but no function",
    }.items():
        with pytest.raises(ConfigError, match=message) as caught:
            reward.load(str(tmp_path / spec))
        assert caught.value.exit_code == 2


def test_modules_by_name(monkeypatch, tmp_path):
    (tmp_path / "my_rewards.py").write_text("def yes(completions):\n    return [1] * len(completions)\n")
    monkeypatch.chdir(tmp_path)
    assert [v.score for v in reward.load("my_rewards:yes").score(items("a"))] == [1.0]
    with pytest.raises(ConfigError, match="no module named 'my_reward_s'"):
        reward.load("my_reward_s:yes")
    with pytest.raises(ConfigError, match="did you mean 'yes'"):
        reward.load("my_rewards:yess")


def test_neighbouring_modules_can_be_imported(tmp_path):
    (tmp_path / "neighbour_of_reward.py").write_text("VALUE = 0.25\n")
    (tmp_path / "r.py").write_text("from neighbour_of_reward import VALUE\ndef f(completion):\n    return VALUE\n")
    assert reward.load(f"{tmp_path}/r.py:f").score(items("a"))[0].score == 0.25


def test_numpy_is_not_confused_by_float_subclasses(load):
    function = load("listed")
    function._call.function.__globals__["VALUES"] = {"x": np.float64(0.1)}
    assert type(function.score(items("x"))[0].score) is float


@pytest.fixture(autouse=True)
def _warnings_only(caplog):
    caplog.set_level(logging.WARNING, logger="winnow.reward")
