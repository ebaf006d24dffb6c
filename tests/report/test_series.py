import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.report.run import load_run
from winnow.report.series import binned, sizes_by_pass_rate, smooth

finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=40), st.integers(1, 15))
def test_smooth_is_the_mean_of_a_window_that_shrinks_at_the_ends(values, span):
    got = smooth(np.array(values), span)
    for place in range(len(values)):
        reach = min(span // 2, place, len(values) - 1 - place)
        window = values[place - reach : place + reach + 1]
        assert got[place] == pytest.approx(np.mean(window), abs=1e-6, rel=1e-9)


def test_bins_keep_columns_aligned():
    x, y = binned(np.arange(100.0), 2 * np.arange(100.0), bins=7)
    assert len(x) == 7 and np.allclose(y, 2 * x)
    assert np.array_equal(binned(np.arange(3.0), bins=7)[0], [0, 1, 2])


def write(folder, groups):
    (folder / "metrics.jsonl").write_text('{"step": 1}\n')
    lines = [
        json.dumps({"step": 1, "prompt_id": f"p{index}", "reward": reward})
        for index, group in enumerate(groups)
        for reward in group
    ]
    (folder / "rollouts.jsonl").write_text("\n".join(lines) + "\n")
    return load_run(folder)


def test_sizes_are_filed_under_the_pass_rate_of_the_group(tmp_path):
    groups = [[0, 0], [1, 0, 0, 0], [1, 0], [1, 1, 1, 0], [1] * 9 + [0], [1, 1, 1], [None, None]]
    assert sizes_by_pass_rate(write(tmp_path, groups)) == {
        "none": [2], "≤ ¼": [4], "≤ ½": [2], "≤ ¾": [4], "< 1": [10], "all": [3],
    }  # fmt: skip


def test_a_log_of_trained_rollouts_alone_says_nothing_about_sizes(tmp_path):
    (tmp_path / "config.toml").write_text('log_rollouts = "trained"\n')
    assert sizes_by_pass_rate(write(tmp_path, [[0, 1]])) == {}
