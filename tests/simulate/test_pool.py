import json
from types import SimpleNamespace

import numpy as np
import pytest

from winnow.errors import ConfigError, DataError
from winnow.simulate import Learning, Pool, make_pool


def taught(prompts, advantages, kept, opened):
    return SimpleNamespace(prompts=np.array(prompts), advantages=np.array(advantages, float), kept_rows=kept,
                           weights=np.ones(len(prompts)), counts=np.ones(opened, int))  # fmt: skip


def logit(p):
    return np.log(p) - np.log1p(-p)


def test_shapes_of_pass_rates():
    beta = make_pool("beta:2,6", 50_000).rates()
    assert beta.mean() == pytest.approx(0.25, abs=0.005)
    pareto = make_pool("pareto:1.5", 50_000).rates()
    assert pareto.min() >= 0.02 - 1e-12 and (pareto > 0.1).mean() == pytest.approx((0.02 / 0.1) ** 1.5, rel=0.05)
    assert make_pool("0.1,0.9", 5).rates() == pytest.approx([0.1, 0.9, 0.1, 0.9, 0.1])
    variance = make_pool("variance:3", 10_000).variance()
    assert variance.min() == pytest.approx(1, abs=1e-3) and variance.mean() == pytest.approx(1.5, rel=0.01)


def test_rates_from_a_file(tmp_path):
    (tmp_path / "rates.json").write_text(json.dumps([0.0, 1.0]))
    (tmp_path / "rates.txt").write_text("0.25\n0.5\n")
    assert make_pool(str(tmp_path / "rates.json"), 3).rates().tolist() == [0, 1, 0]
    assert make_pool(str(tmp_path / "rates.txt"), 2).rates() == pytest.approx([0.25, 0.5])
    (tmp_path / "bad.txt").write_text("high")
    with pytest.raises(DataError, match=r"bad\.txt"):
        make_pool(str(tmp_path / "bad.txt"), 2)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"bytes\.txt is no list"):
        make_pool(str(tmp_path / "bytes.txt"), 2)


@pytest.mark.parametrize("text", ["", "\n \n", "[]"])
def test_a_file_without_rates_is_no_pool(tmp_path, text):
    file = tmp_path / "rates.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=r"rates\.txt holds no pass rates: write at least one"):
        make_pool(str(file), 2)


@pytest.mark.parametrize(
    ("text", "size"),
    [("beta:1", 9), ("beta:0,1", 9), ("gamma:1", 9), ("pareto:x", 9), ("0.5,1.5", 9), ("0.5", 0), ("0.5", 2_000_000)],
)
def test_bad_pools(text, size):
    with pytest.raises(ConfigError):
        make_pool(text, size)
    with pytest.raises(ConfigError, match="--known"):
        make_pool("beta:1,1", 9, known=True)


def test_a_prompt_learns_from_its_own_signal_and_all_from_the_mean():
    pool = Pool([0.2, 0.2, 0.2, 0.0, 1.0])
    pool.learn(Learning(rate=0.5, shared=0.2), np.array([0, 1]), taught([0, 0, 1, 1], [1, -1, 0, 0], 4, 2))
    # s = 2 / 4 * 2 = 1 for prompt 0, 0 for prompt 1; the mean is 0.5.
    gained = logit(pool.rates(np.arange(3))) - logit(0.2)
    assert gained == pytest.approx([0.5 * 0.8 + 0.05, 0.05, 0.05])
    assert pool.rates()[3:].tolist() == [0, 1]


def test_no_rows_teach_nothing():
    pool = Pool([0.2, 0.4])
    pool.learn(Learning(), np.array([0, 1]), taught([], [], 0, 2))
    assert pool.rates() == pytest.approx([0.2, 0.4])


def test_known_variances_show_in_every_even_number_of_draws():
    pool = Pool(variance=[4.0, 9.0], known=True)
    rewards = pool.draw(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.random.default_rng(0))
    assert rewards.tolist() == [2, -2, 3, -3]


@pytest.mark.parametrize("wrong", [{"rate": -1}, {"rate": np.inf}, {"shared": 1.1}])
def test_bad_learning(wrong):
    with pytest.raises(ConfigError):
        Learning(**wrong)
