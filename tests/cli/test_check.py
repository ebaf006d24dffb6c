from types import SimpleNamespace

import pytest

from winnow import reward
from winnow.cli.check import golds
from winnow.reward.exact import Exact
from winnow.rollout import Prompt


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("exact", {}),
        ("exact", {"extract": "boxed"}),
        ("exact", {"extract": "marker"}),
        ("math", {}),
        ("math", {"extract": "lenient"}),
        ("math+exact", {}),
    ],
)
def test_golds_are_written_where_the_reward_looks(spec, options):
    if "math" in spec:
        pytest.importorskip("math_verify")
    judge = reward.load(spec, **options)
    if spec == "math+exact":
        judge.rewards[1] = Exact(extract="boxed")
    rows = [Prompt(f"train:{i}", "?", answer) for i, answer in enumerate(["12", "-3.5", "1/2"])]
    task = SimpleNamespace(reward=judge)
    setup = SimpleNamespace(train=SimpleNamespace(prompts=rows), test=SimpleNamespace(prompts=[]), task=task)
    assert golds(setup) == {"checked": 3, "accepted": 3, "refused": []}
