import math
import random
from dataclasses import dataclass

import pytest

from tests.audit.logs import line, write
from tests.conftest import CASES
from winnow.audit import audit, duplicates
from winnow.errors import ConfigError, DataError
from winnow.reward import Exact, Verdict, load
from winnow.rollout import Prompt
from winnow.task import Task


def look(tmp_path, lines, **options):
    return audit([write(tmp_path / "rollouts.jsonl", lines)], **options)


def found(facts, check):
    return [finding for finding in facts["findings"] if finding["check"] == check]


def healthy(prompts=30):
    """Eight rollouts of each prompt, half of them right, texts and lengths without a pattern."""
    rng = random.Random(0)
    return [
        line(f"train:{p}", float(i % 2), text="7" if i % 2 else f"no {p}/{i}", ids=[0] * rng.randrange(2, 9))
        for p in range(prompts)
        for i in range(8)
    ]


def test_a_healthy_log_has_no_findings(tmp_path):
    facts = look(tmp_path, healthy())
    assert facts["findings"] == []
    assert (facts["rollouts"], facts["steps"], facts["signal"]["groups"], facts["passed"]) == (240, 1, 30, 120)
    assert facts["reward"]["mean"] == 0.5 and facts["reward"]["count"] == 240
    assert facts["signal"]["no_signal"] == 0.0 and facts["signal"]["prompts_constant"] == 0


def test_a_constant_reward_is_the_worst_that_can_be(tmp_path):
    facts = look(tmp_path, [line(f"train:{p}", 0.0) for p in range(4) for _ in range(4)])
    assert [each["check"] for each in facts["findings"]][:1] == ["constant"]
    assert facts["findings"][0]["severity"] == "high" and "16 scored" in facts["findings"][0]["what"]
    assert facts["signal"]["prompts_constant"] == 4 and facts["signal"]["kinds"]["all_fail"] == 4


def test_a_constant_part_is_told_by_name(tmp_path):
    lines = [{**each, "parts": {"math": each["reward"], "think": 0.0, "odd": None}} for each in healthy(4)]
    facts = look(tmp_path, lines)
    (finding,) = found(facts, "constant")
    assert "part think is 0" in finding["what"] and finding["severity"] == "medium"
    assert facts["parts"]["odd"] == {**facts["parts"]["odd"], "count": 0, "missing": 32, "mean": None}


def test_truncated_and_unscorable_rollouts_are_counted(tmp_path):
    lines = [
        *healthy(10),
        *[line("cut", 1.0, finish="length", text=f"so 7 {i}") for i in range(10)],
        *[line("bad", None, reason="no parser" if i else "") for i in range(10)],
    ]
    facts = look(tmp_path, lines)
    assert facts["truncated"] == {**facts["truncated"], "count": 10, "share": 0.1, "passed": 10}
    assert facts["truncated"]["reward"]["mean"] == 1.0 and facts["truncated"]["reward_of_others"]["mean"] == 0.5
    assert facts["unscorable"] == {"count": 10, "share": 0.1, "reasons": {"no parser": 9, "no reason given": 1}}
    assert facts["reward"]["count"] == 90 and facts["reward"]["missing"] == 10
    assert found(facts, "truncated") and found(facts, "unscorable") and found(facts, "cut")


def test_reasons_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("winnow.audit.rewards.MOST_REASONS", 3)
    facts = look(tmp_path, [line("a", None, reason=f"line {i % 10}") for i in range(40)])
    assert sum(facts["unscorable"]["reasons"].values()) == 40 and facts["unscorable"]["reasons"]["other reasons"] == 28


def test_length_that_pays_is_found_within_prompts_only(tmp_path):
    def logged(pays):
        rng = random.Random(1)
        lines = []
        for prompt in range(40):
            for i in range(8):
                length = 10 * prompt + rng.randrange(1, 9)
                right = float(length % 10 > 4) if pays else float(rng.random() < prompt / 40)
                lines.append(line(f"train:{prompt}", right, text=f"7 {i} {prompt}", ids=[0] * length))
        return lines

    facts = look(tmp_path, logged(True))
    assert facts["length_and_reward"]["spearman"]["low"] > 0.7
    assert "longer completions" in found(facts, "length")[0]["what"]
    # Long prompts are right more often, and no completion is right for being long.
    facts = look(tmp_path, logged(False))
    assert abs(facts["length_and_reward"]["spearman"]["r"]) < 0.2 and not found(facts, "length")


def test_duplicates_and_their_entropy(tmp_path):
    lines = [line("a", 0.0, text=text) for text in "wxyz"] + [line("b", 0.0, text=text) for text in "wwww"]
    facts = look(tmp_path, lines)["duplicates"]
    assert facts["within_prompt"] == 3 / 8
    assert facts["entropy"]["mean"] == 0.5 and (facts["entropy"]["min"], facts["entropy"]["max"]) == (0.0, 1.0)
    assert facts["across_prompts"] == 5 / 8
    assert facts["common"] == [{"text": "w", "rollouts": 5, "prompts": 2, "passed": 0}]


def test_texts_are_sampled_when_there_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr(duplicates, "MOST_TEXTS", 500)
    lines = [line(f"train:{i % 7}", 0.0, text=f"text {i % 3000}") for i in range(6000)]
    lines += [line(f"train:{i % 7}", 0.0, text=f"alone {i}") for i in range(2000)]
    facts = look(tmp_path, lines)["duplicates"]
    # 3,000 texts stand under two prompts each (3000 is no multiple of 7), 2,000 under one.
    assert facts["share_of_texts_looked_at"] < 0.25
    assert facts["across_prompts"] == pytest.approx(0.75, abs=0.06)


def test_one_text_with_two_verdicts_is_noise(tmp_path):
    facts = look(tmp_path, [line("a", 1.0, text="7"), line("a", 0.0, text="7"), line("a", None, text="7")])
    assert facts["duplicates"]["contradicting_groups"] == 1
    assert found(facts, "contradiction")[0]["severity"] == "high"


def test_cheap_passes_are_found(tmp_path):
    lines = [
        *healthy(4),
        line("empty", 1.0, text="  "),
        line("copy", 1.0, prompt="say 7", text="say 7"),
        *[line(f"fool{i}", 1.0, answer=str(i), text="whatever you want") for i in range(5)],
        line("wrong", 0.0, text=""),
    ]
    facts = look(tmp_path, lines)
    hints = facts["hints"]
    assert (hints["empty"], hints["repeats_prompt"], hints["without_gold"]) == (1, 1, 6)
    assert hints["examples"]["empty"] == [{"prompt_id": "empty", "gold": "7", "text": "  "}]
    assert {each["check"] for each in facts["findings"] if each["severity"] == "high"} == {"empty", "repeats prompt"}
    assert "whatever you want" in found(facts, "one answer for all")[0]["what"]
    assert found(facts, "without gold")


def test_shaping_that_beats_the_verifier(tmp_path):
    rewards = (1.0, 1.5, 1.2, 1.2)
    lines = [line(f"p{p}", rewards[i], outcome=float(i < 2)) for p in range(5) for i in range(4)]
    facts = look(tmp_path, lines)
    assert facts["signal"]["failure_above_success"] == facts["signal"]["mixed_compared"] == 5
    assert found(facts, "shaping")[0]["severity"] == "high"


def test_findings_are_ranked(tmp_path):
    lines = [line(f"p{p}", 1.0, text="", finish="length") for p in range(4) for _ in range(4)]
    severities = [each["severity"] for each in look(tmp_path, lines)["findings"]]
    assert severities == sorted(severities, key=["high", "medium", "low"].index) and len(set(severities)) == 3


@dataclass(frozen=True)
class Contains:
    """Passes whatever has the gold somewhere in it."""

    name: str = "contains"
    needs_gold = True

    def unreadable(self, answer):
        return ""

    def score(self, items):
        return [Verdict(float((item.prompt.answer or "") in item.completion)) for item in items]


def two_verifiers():
    """Logged by exact match on the whole completion; 6 of 20 have the gold inside of something else."""
    return [
        *[line(f"train:{i}", 1.0, text="7") for i in range(8)],
        *[line(f"train:{i}", 0.0, text=f"17 and {i}") for i in range(8, 14)],
        *[line(f"train:{i}", 0.0, text="5") for i in range(14, 18)],
        *[line(f"train:{i}", None, text="7", reason="late") for i in range(18, 20)],
    ]


def test_disagreements_with_the_log(tmp_path):
    facts = look(tmp_path, two_verifiers(), against=Contains(), examples=2)["verifiers"]
    assert facts["table"] == {
        "pass": {"pass": 8, "fail": 0, "unscorable": 0},
        "fail": {"pass": 6, "fail": 4, "unscorable": 0},
        "unscorable": {"pass": 2, "fail": 0, "unscorable": 0},
    }
    assert (facts["disagreements"], facts["scored_by_both"], facts["rate"]) == (6, 18, 1 / 3)
    assert facts["low"] < 1 / 3 < facts["high"]
    assert [each["prompt_id"] for each in facts["examples"]] == ["train:8", "train:9"]
    assert facts["examples"][0] == {
        "prompt_id": "train:8", "place": facts["examples"][0]["place"], "gold": "7", "completion": "17 and 8",
        "verdicts": ["fail", "pass"], "reasons": ["", ""],
    }  # fmt: skip


def test_disagreements_of_two_rewards(tmp_path):
    facts = look(tmp_path, two_verifiers(), reward=load("exact", extract="whole"), against=Contains())
    verifiers = facts["verifiers"]
    assert (verifiers["first"]["name"], verifiers["second"]["name"]) == ("exact", "contains")
    assert (verifiers["disagreements"], verifiers["scored_by_both"]) == (6, 20)
    assert "6 of 20" in found(facts, "verifiers")[0]["what"] and found(facts, "verifiers")[0]["severity"] == "high"


def test_one_reward_alone_is_held_against_the_log(tmp_path):
    facts = look(tmp_path, two_verifiers(), reward=load("exact", extract="whole"))["verifiers"]
    assert facts["first"]["name"] == "the log" and facts["disagreements"] == 0


class Noisy:
    """Another verdict at every second question."""

    name = "noisy"
    scores = CASES["RWD-10"]["input"]["same_input_scored_twice"]

    def __init__(self):
        self.calls = 0

    def score(self, items):
        self.calls += 1
        return [Verdict(self.scores[(self.calls + 1) % 2]) for _ in items]


def test_noise_is_found_by_scoring_twice_rwd_10(tmp_path):
    facts = look(tmp_path, two_verifiers(), against=Noisy())
    assert facts["verifiers"]["second"] == {
        "name": "noisy", "scored_twice": 20, "differing": 20,
        "example": {"prompt_id": "train:0", "completion": "7", "scores": Noisy.scores},
    }  # fmt: skip
    assert "20 of 20" in found(facts, "not deterministic")[0]["what"]


class Abstains:
    """Scores the first two of a batch."""

    name = "abstains"

    def score(self, items):
        return [Verdict(1.0) if i < 2 else Verdict(None, reason="timeout") for i, _ in enumerate(items)]


def test_a_verifier_that_abstains_is_told_and_not_asked_again(tmp_path):
    facts = look(tmp_path, two_verifiers(), against=Abstains())
    assert facts["verifiers"]["scored_by_both"] == facts["verifiers"]["second"]["scored_twice"] == 2
    assert facts["verifiers"]["rate"] == 0.0
    assert "could not score 18 of 20 rollouts; the first: timeout" in found(facts, "verifiers")[0]["what"]


def test_batches_cover_every_rollout(tmp_path, monkeypatch):
    monkeypatch.setattr("winnow.audit.verifiers.BATCH", 7)
    monkeypatch.setattr("winnow.audit.verifiers.TWICE", 10)
    facts = look(tmp_path, two_verifiers(), against=Contains())["verifiers"]
    assert sum(sum(row.values()) for row in facts["table"].values()) == 20
    assert facts["second"]["scored_twice"] == 10


def task(text="what is train:1?", answer="7", **fields):
    return Task("data", [Prompt("train:1", text, answer, fields)], [], Exact(), "")


def test_golds_may_come_from_the_task(tmp_path):
    lines = [line("train:1", 1.0, answer=None), line("train:1", 0.0, text="5", answer=None)]
    with pytest.raises(DataError, match=r"line 1.*--task"):
        look(tmp_path, lines, against=Contains())
    assert look(tmp_path, lines, against=Contains(), task=task())["verifiers"]["disagreements"] == 0


def test_another_task_is_refused(tmp_path):
    with pytest.raises(DataError, match="not the task of this log"):
        look(tmp_path, [line("train:1")], against=Contains(), task=task(text="what is 2?"))
    with pytest.raises(DataError, match="has no prompt train:9"):
        look(tmp_path, [line("train:9")], against=Contains(), task=task())


def test_columns_come_from_the_task(tmp_path):
    path = tmp_path / "r.py"
    path.write_text("def by_level(completion, level):\n    return float(level > 1)\n")
    with pytest.raises(ConfigError, match="--task"):
        look(tmp_path, [line("train:1")], against=load(f"{path}:by_level"))
    facts = look(tmp_path, [line("train:1", 1.0)], against=load(f"{path}:by_level"), task=task(level=2))
    assert facts["verifiers"]["table"]["pass"]["pass"] == 1


def test_an_empty_log_is_refused(tmp_path):
    with pytest.raises(DataError, match="no rollouts in it"):
        look(tmp_path, [])


def test_json_holds_no_nan(tmp_path):
    def walk(value):
        if isinstance(value, dict):
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)
        else:
            assert not isinstance(value, float) or math.isfinite(value)

    walk(look(tmp_path, [line("a", None)]))
