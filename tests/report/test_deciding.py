import json

import numpy as np
import pytest

from winnow.report.deciding import closings, decisions, sizes_by_belief
from winnow.report.run import load_run


def told(before, rollouts, effect, closed):
    return {
        "rate": 0.02, "prompt_id": [f"p{i}" for i in range(len(before))], "before": before, "rollouts": rollouts,
        "right": [0] * len(before), "effect": effect, "closed": closed,
    }  # fmt: skip


def write(folder, records):
    lines = [json.dumps({"step": i + 1, "total/rollouts": 10 * (i + 1), **r}) for i, r in enumerate(records)]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return load_run(folder)


@pytest.fixture
def run(tmp_path):
    return write(
        tmp_path,
        [
            {"decisions": told([0.1, 0.5], [3, 7], [0.2, 0.3], ["contrast", "solved"])},
            {},
            {"decisions": told([0.2, 1.0], [2, 8], [0.0, 0.1], ["contrast", "contrast"])},
        ],
    )


def test_shares_and_effect_by_step(run):
    x, shares, taught = closings(run)
    assert x.tolist() == [10, 30]
    assert {name: share.tolist() for name, share in shares.items()} == {"contrast": [0.5, 1.0], "solved": [0.5, 0.0]}
    assert taught == pytest.approx([0.05, 0.01])


def test_sizes_by_what_was_believed(run):
    assert sizes_by_belief(run) == {"≤ ⅕": [3], "≤ ⅖": [2], "≤ ⅗": [7], "≤ 1": [8]}


def test_the_figure_and_none_without_decisions(run, tmp_path):
    figure = decisions(run)
    assert [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes] == [
        "Who got them", "Why they got no more", "What a rollout taught",
    ]  # fmt: skip
    (tmp_path / "other").mkdir()
    assert decisions(write(tmp_path / "other", [{}])) is None


def test_one_step_is_enough(tmp_path):
    assert (
        decisions(write(tmp_path, [{"decisions": told([np.nextafter(1, 0)], [2], [0.0], ["no success"])}])) is not None
    )
