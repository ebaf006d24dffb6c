"""The pool is the reward it wraps: same verdicts, same errors, same counters."""

import logging
import math
import pickle
import struct
import threading

import pytest
from tests.reward.pool_tools import FILE, items, named, scores, shared_pools

from winnow import reward
from winnow.errors import ConfigError, RewardError
from winnow.reward import Combined, Exact, Item
from winnow.reward.pool import Pool
from winnow.rollout import Prompt


@pytest.fixture(autouse=True)
def _warnings_only(caplog):
    caplog.set_level(logging.WARNING, logger="winnow.reward")


@pytest.fixture(scope="module")
def pools():
    with shared_pools() as make:
        yield make


both_starts = pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])


def bits(number):
    return number if number is None else struct.pack("<d", number)


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_verdicts_come_back_exactly(start, pools):
    names = ["third", "minus zero", "tiny", "sum", "large", "none", "verdict"]
    batch = items(*names)
    found = pools("value", start=start).score(batch)
    expected = reward.load(named("value")).score(batch)
    assert [bits(v.score) for v in found] == [bits(v.score) for v in expected]
    assert found == expected
    assert math.copysign(1, found[6].parts["c"]) == -1


def test_verdicts_stand_in_the_order_of_the_items():
    delays = [0.2, 0.0, 0.1, 0.02, 0.0, 0.05] * 2
    with Pool(named("sleep"), workers=4) as pool:
        assert scores(pool.score(items(*map(str, delays)))) == delays
        many = [i / 1e9 for i in range(3000)]
        assert scores(pool.score(items(*map(repr, many)))) == many


def test_nothing_to_score_starts_nothing(monkeypatch):
    monkeypatch.setattr("winnow.reward.pool.holder.Crew", None)
    assert Pool(named("value")).score([]) == []


@both_starts
@pytest.mark.parametrize("case", ["RWD-04"], indirect=True)
def test_one_exception_costs_one_verdict(case, start, caplog):
    batch = items("1", "0", "fail:1", "1")
    with Pool(named("misbehave"), start=start) as pool:
        verdicts = pool.score(batch)
        metrics = pool.metrics()
    assert scores(verdicts) == case["expected"]["rewards"]
    assert verdicts == reward.load(named("misbehave")).score(batch)
    assert metrics.items() >= case["expected"]["counter"].items()
    for part in ("ValueError", "misbehave", "train:3", "0/2"):
        assert part in caplog.text


def test_error_policies():
    zero = Pool(reward.load(named("misbehave"), on_error="zero"))
    stop = Pool(reward.load(named("misbehave"), on_error="raise"))
    with zero, stop:
        assert scores(zero.score(items("1", "fail:1"))) == [1.0, 0.0]
        with pytest.raises(RewardError, match=r"misbehave raised ValueError: no on prompt train:3, rollout 0/1"):
            stop.score(items("1", "fail:1"))
        assert scores(stop.score(items("1", "2"))) == [1.0, 2.0]


def test_error_rate_is_taken_over_all_workers(caplog):
    with Pool(named("misbehave"), workers=4) as pool:
        for _ in range(8):
            pool.score(items("1", "fail:1"))
        with pytest.raises(RewardError, match="raised on 9 of the latest 17 completions") as caught:
            pool.score(items("fail:1"))
    for part in ("misbehave", "max_error_rate = 0.5", "pool_rewards.py", "ValueError: no"):
        assert part in str(caught.value)
    assert "winnow/reward" not in str(caught.value).replace(str(FILE), "")
    assert caught.value.exit_code == 3
    with Pool(named("misbehave"), max_error_rate=1.0) as pool:
        assert scores(pool.score(items(*["fail:1"] * 20))) == [None] * 20
        assert pool.metrics()["reward_errors"] == 20
    assert "further ones are only counted" in caplog.text


def test_the_limit_of_a_reward_is_its_own():
    with Pool(reward.load(named("misbehave"), max_error_rate=1.0)) as pool:
        assert scores(pool.score(items(*["fail:1"] * 20))) == [None] * 20


@pytest.mark.parametrize("name", ["inf", "text"])
def test_values_outside_the_contract_name_function_prompt_and_rollout(name, pools):
    pool = pools("value", start="fork")
    with pytest.raises(RewardError, match=r"reward function value, prompt train:3, rollout 0/1"):
        pool.score(items("third", name, "sum"))
    assert scores(pool.score(items("sum"))) == [0.1 + 0.2]


def test_nan_is_unscorable_with_a_warning(caplog, pools):
    [verdict] = pools("value", start="fork").score(items("nan"))
    assert verdict.score is None and "NaN" in caplog.text and "train:3, rollout 0/0" in caplog.text


@pytest.mark.parametrize("case", ["RWD-01"], indirect=True)
def test_one_value_for_a_whole_batch_is_seen(case):
    with Pool(named("one_for_all")) as pool, pytest.raises(RewardError) as caught:
        pool.score(items(*["x"] * case["input"]["n_completions"]))
    # Workers compare a pair with its members, so the pair is what the message counts.
    for part in ("one_for_all", "expected 2 scores", case["expected"]["message_must_name"][2]):
        assert part in str(caught.value)


def test_a_function_of_the_whole_batch_is_told_so(caplog):
    with Pool(named("relative")) as pool:
        pool.score(items("a", "b", "c"))
        pool.score(items("a", "b", "c"))
    assert caplog.text.count("relative gives 1.0 to a completion scored with another one and 0.0") == 1


@pytest.mark.parametrize("case", ["RWD-10"], indirect=True)
def test_a_random_reward_is_seen_in_the_first_batch(case, tmp_path, caplog):
    first, second = case["input"]["same_input_scored_twice"]
    (tmp_path / "fickle.py").write_text(
        f"import itertools\nvalues = itertools.cycle([{first}, {first}, {second}])\n"
        "def fickle(completion):\n    return next(values)\n"
    )
    with Pool(f"{tmp_path}/fickle.py:fickle", workers=1) as pool:
        pool.score(items("a", "a"))
    assert f"fickle gives {second} to a completion scored with another one and {first}" in caplog.text


@pytest.mark.parametrize("case", ["RWD-02"], indirect=True)
def test_only_what_the_signature_names_is_passed(case, pools):
    prompt = Prompt("train:3", "q", "7", dict.fromkeys(case["input"]["extra_columns"], "raw"))
    # `exact` takes **columns as well and is here for what workers are sent; its answer is the gold, not the column.
    assert scores(pools("exact").score([Item(prompt, "7"), Item(prompt, "8")])) == [1.0, 0.0]
    assert scores(pools("given").score([Item(prompt, "7"), Item(prompt, "8")])) == [1.0, 0.0]


@both_starts
def test_a_column_that_some_rows_lack_is_none_there(start):
    batch = [*items("a", level=2), *items("b"), *items("c", level=1), *items("d")]
    with Pool(named("levelled"), start=start) as pool:
        found = pool.score(batch)
        assert scores(found) == [2.0, 0.0, 1.0, 0.0]
        assert found == reward.load(named("levelled")).score(batch)
        # The column was seen, as in one process.
        assert scores(pool.score(items("b"))) == [0.0]


def test_a_missing_column_is_named_before_anything_starts(monkeypatch):
    monkeypatch.setattr("winnow.reward.pool.holder.Crew", None)
    pool = Pool(named("levelled"))
    with pytest.raises(ConfigError, match="levelled asks for 'level'"):
        pool.check_columns(["other"], has_answers=True)
    with pytest.raises(RewardError, match="levelled asks for 'level'"):
        pool.score(items("a", other=1))


def test_columns_checked_at_load_are_known_to_workers():
    with Pool(named("levelled")) as pool:
        pool.check_columns(["level"], has_answers=True)
        assert scores(pool.score(items("a"))) == [0.0]


def test_a_column_that_cannot_be_sent_is_named(pools):
    with pytest.raises(RewardError, match=r"train:3.*column 'lock' holds a lock that cannot be sent"):
        pools("exact").score(items("7", lock=threading.Lock()))
    assert scores(pools("exact").score(items("7"))) == [1.0]


def test_sums_and_built_in_rewards():
    def combined():
        return Combined([Exact("last_number"), reward.load(named("misbehave"))], [1.0, 0.5])

    batch = items("7", "8", "fail:7")
    with Pool(combined()) as pool, Pool("exact") as exact:
        assert pool.score(batch) == combined().score(batch)
        assert pool.name == "exact+misbehave" and pool.needs_gold
        assert pool.metrics()["reward_errors"] == 1
        assert scores(exact.score(items("7", "8"))) == [1.0, 0.0]
        assert exact.unreadable("seven") == "" and exact.needs_gold
    assert not Pool(named("value")).needs_gold


def test_coroutines():
    with Pool(named("awaited")) as pool:
        assert scores(pool.score(items("1", "2"))) == [1.0, 2.0]


def test_every_interpreter_has_the_same_order_of_sets(monkeypatch):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    with Pool(named("order"), workers=1) as one, Pool(named("order"), workers=1) as other:
        assert scores(one.score(items("a"))) == scores(other.score(items("a")))


def test_a_relative_path_means_the_folder_the_pool_was_made_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.py").write_text("def one(completion):\n    return 1.0\n")
    pool = Pool("here.py:one")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pool:
        assert scores(pool.score(items("a", "b"))) == [1.0, 1.0]


def test_a_pool_can_be_used_after_close_and_pickled():
    pool = Pool(named("value"), timeout=3.0, workers=1)
    assert scores(pool.score(items("sum"))) == [0.1 + 0.2]
    pool.close()
    pool.close()
    assert scores(pool.score(items("third"))) == [1 / 3]
    copy = pickle.loads(pickle.dumps(pool))
    assert (copy.name, copy.workers, copy.timeout, copy.on_timeout) == ("value", 1, 3.0, "unscorable")
    with pool, copy:
        assert scores(copy.score(items("third"))) == [1 / 3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"workers": 2.5}, "workers must be"),
        ({"timeout": 0}, "timeout must be a positive number"),
        ({"timeout": float("nan")}, "timeout must be a positive number"),
        ({"memory_mb": -1}, "memory_mb must be"),
        ({"max_output": 0}, "max_output must be"),
        ({"on_timeout": "zeros"}, "unknown value of on_timeout 'zeros', did you mean 'zero'"),
        ({"start": "forks"}, "unknown value of start 'forks', did you mean 'fork'"),
        ({"max_error_rate": 2}, "max_error_rate must be between 0 and 1"),
        ({"workers": True}, "workers must be a whole number of at least 1, got True"),
        ({"timeout": "5"}, "timeout must be a positive number of seconds, less than .*, got '5'"),
        ({"timeout": None}, "timeout must be .*, got None"),
        ({"timeout": True}, "timeout must be .*, got True"),
        ({"max_error_rate": "a"}, "max_error_rate must be between 0 and 1, got 'a'"),
        ({"memory_mb": 10**15}, "memory_mb must be at most 1099511627776, got 1000000000000000"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ConfigError, match=message):
        Pool(named("value"), **settings)


@pytest.mark.parametrize("thing", [7, dict, None])
def test_things_that_are_no_reward(thing):
    with pytest.raises(ConfigError, match=r"Pool needs a reward, a function, or a specification"):
        Pool(thing)


def test_a_specification_that_cannot_be_loaded_is_refused_at_once():
    with pytest.raises(ConfigError, match="has no function 'valu', did you mean 'value'"):
        Pool(named("valu"))
