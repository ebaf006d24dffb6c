import re
import sys
from html.parser import HTMLParser

import pytest

from tests.report.synthetic import write_run
from winnow.errors import MissingExtra
from winnow.report import load_run, write_report
from winnow.report.page import row_price
from winnow.report.samples import ROLLOUTS, sample_groups


class Balance(HTMLParser):
    """Fails on a tag closed out of order; keeps what would be fetched."""

    void = frozenset({"meta", "img", "br", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.fetched = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_run(tmp_path_factory.mktemp("run"), steps=5, eval_every=2)
    write_report(folder)
    return folder


def test_the_page_is_whole_and_fetches_nothing(folder):
    page = (folder / "report.html").read_text()
    check = Balance()
    check.feed(page)
    assert check.open == []
    assert len(check.fetched) == 5 and all(value.startswith("data:image/png;base64,") for value in check.fetched)
    assert "<script" not in page


def test_figures_are_png_and_the_same_each_time(folder):
    names = {path.name for path in (folder / "figures").iterdir()}
    assert names == {f"{name}.png" for name in ("learning", "signal", "groups", "seconds", "funnel")}
    before = (folder / "figures" / "funnel.png").read_bytes()
    assert before.startswith(b"\x89PNG")
    write_report(folder)
    assert (folder / "figures" / "funnel.png").read_bytes() == before


def test_headline_numbers_and_text_are_escaped(folder):
    page = (folder / "report.html").read_text()
    run = load_run(folder)
    assert f"{run.total('rollouts'):,.0f}" in page
    first, last = run.series("eval/accuracy")[0][[0, -1]]
    assert f"{first:.1%} → {last:.1%}" in page
    assert "7+5 &lt;b&gt;=" in page and "7+5 <b>" not in page


def test_useful_rows_are_told_per_token_and_per_second(folder):
    run = load_run(folder)
    page = (folder / "report.html").read_text()
    assert f"<b>{1000 * run.total('rows') / run.total('tokens'):.1f}</b>" in page
    assert "trained rows per second" in page


def test_samples_show_both_fates_of_groups_with_signal_first(folder):
    groups = sample_groups(load_run(folder))
    assert {group.step for group in groups} == {1, 3, 5}
    for group in groups:
        assert len(group.rollouts) <= ROLLOUTS
        fates = [rollout["fate"] for rollout in group.rollouts]
        assert fates == sorted(fates, key=lambda fate: fate != "trained")
    shown = {rollout["fate"] for group in groups for rollout in group.rollouts}
    assert {"trained", "not selected"} <= shown


def test_an_unfinished_run_without_rollouts_still_gets_a_page(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "eval/accuracy": 0.5}\n')
    page = write_report(tmp_path).read_text()
    assert "not finished" in page and re.search(r"50\.0% → 50\.0%", page)


def test_without_matplotlib_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"winnow-rl\[report\]"):
        write_report(folder)


def test_the_price_of_a_row_is_seconds_over_seconds(tmp_path):
    run = load_run(write_run(tmp_path, steps=5, eval_every=2))
    seconds = {
        name: sum(step[f"seconds/{name}"] for step in run.steps if step["step"]) for name in ("update", "generate")
    }
    counts = {name: sum(step[name] for step in run.steps if step["step"]) for name in ("rows", "rollouts")}
    wanted = seconds["update"] / counts["rows"] / (seconds["generate"] / counts["rollouts"])
    assert row_price(run) == pytest.approx(wanted)
    run.steps.clear()
    assert row_price(run) is None
