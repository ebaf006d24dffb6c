from tests.audit.logs import line, write
from winnow.audit import groups, open_log
from winnow.audit.groups import Grouper, digest


def grouped(path):
    grouper = Grouper()
    closed = [group for entry in open_log([path]) for group in grouper.add(entry, digest(entry.text))]
    return [(group.prompt_id, len(group.rewards)) for group in [*closed, *grouper.rest()]]


def test_rollouts_of_a_step_may_be_interleaved(tmp_path):
    lines = [line("a"), line("b"), line("a"), line("b", None), line("a", step=2)]
    assert grouped(write(tmp_path / "r.jsonl", lines)) == [("a", 2), ("b", 2), ("a", 1)]


def test_open_groups_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(groups, "MOST_OPEN", 2)
    lines = [line(name) for name in "aabbccaa"]
    assert grouped(write(tmp_path / "r.jsonl", lines)) == [("a", 2), ("b", 2), ("c", 2), ("a", 2)]


def test_a_lone_surrogate_has_a_digest():
    assert digest("\ud83d") != digest("?")
