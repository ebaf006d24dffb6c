import numpy as np

import winnow
from tests.replay.logs import coins
from winnow.replay import replay
from winnow.replay.play import Table
from winnow.replay.sizes import as_command, at_size_of, sizes_of


def test_n_is_the_logs_and_m_in_proportion():
    table = Table(coins(np.full(20, 0.5), 8))
    smaller = at_size_of(table, winnow.recipe("pods"))
    assert sizes_of(smaller) == "n=8, m=2" and as_command(smaller) == "pods:n=8,m=2"
    assert at_size_of(table, winnow.recipe("grpo")) is None


def test_a_default_recipe_that_needs_more_than_the_log_is_replayed_at_its_size():
    log = coins(np.random.default_rng(0).beta(0.5, 1, 40), 8)
    found = replay(log, effort=1e4, recommend=False)
    assert "pods n=8, m=2" in found["recipes"] and "pods" not in found["skipped"]
    assert any("pods n=8, m=2 (its own: n=32, m=8)" in note for note in found["notes"])
    assert "use --recipe pods:n=8,m=2" in replay(log, ["pods"], effort=1e4, recommend=False)["skipped"]["pods"]
