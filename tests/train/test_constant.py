"""A reward or a part that never varies is pointed out once."""

from winnow.rollout import Verdict
from winnow.train.constant import STEPS, ConstantReward


def watch(steps):
    notes = []
    watcher = ConstantReward(notes.append)
    for verdicts in steps:
        watcher.look(verdicts)
    return notes


def test_a_constant_part_is_named_once_and_not_before_its_time():
    step = [Verdict(1.0, parts={"think": 0.0, "math": 1.0}), Verdict(0.0, parts={"think": 0.0, "math": 0.0})]
    assert watch([step] * (STEPS - 1)) == []
    [note] = watch([step] * (STEPS + 5))
    assert "'think'" in note and "was 0 " in note and f"first {STEPS} steps" in note


def test_a_reward_that_varies_only_between_steps_is_not_constant():
    assert watch([[Verdict(float(step))] * 4 for step in range(STEPS)]) == []


def test_unscorable_and_missing_verdicts_are_left_out():
    assert watch([[Verdict(None), None]] * STEPS) == []
    [note] = watch([[Verdict(None), Verdict(0.5), None]] * STEPS)
    assert note.startswith("the reward was 0.5")
