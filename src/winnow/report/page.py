"""``report.html`` of a run: its headline numbers, its figures, its ledger and some of its rollouts."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.report import html
from winnow.report.figures import draw
from winnow.report.funnel import stages
from winnow.report.run import Record, Run, load_run, number
from winnow.report.samples import Group, sample_groups

logger = logging.getLogger("winnow.report")

CAPTIONS = {
    "learning": "Accuracy on held-out prompts, and the mean reward of all generated rollouts. The selected "
    "rollouts are chosen for contrast, so their mean says nothing about learning.",
    "signal": "A group whose rollouts all got the same outcome has no advantage to offer; its rollouts were "
    "generated for nothing.",
    "groups": "Left: rollouts per prompt and step. Right: which prompts got them, by the share of their "
    "rollouts that was right.",
    "decisions": "Left: rollouts of a prompt by the pass rate expected of it beforehand. Middle: why prompts got no "
    "more: right and wrong answers were seen, all were right, none was, or something else was worth more until "
    "the budget ended. Right: the groups' parts in the signal of the update, over rollouts.",
    "seconds": "Seconds of a step by phase, neighbouring steps averaged; evaluation is not included.",
    "funnel": "From generated to trained rollouts over the whole run.",
}


def write_report(path: Path | str) -> Path:
    """Draw the figures of the run folder at ``path`` and write its ``report.html``; return that file.

    A run that has not finished gets a report of what there is so far; damaged lines that were passed over are
    logged as warnings.

    Raises:
        DataError: the folder holds no run, or its files are damaged.
        MissingExtra: matplotlib is not installed.
    """
    run = load_run(path)
    figures = draw(run, run.path / "figures")
    target = run.path / "report.html"
    target.write_text(render(run, figures), encoding="utf-8")
    for note in run.notes:
        logger.warning("note: %s", note)
    return target


def render(run: Run, figures: Mapping[str, Path]) -> str:
    """Return the page of a run; every figure is written into it."""
    state = str(run.summary.get("stopped", "finished")) if run.finished else "not finished"
    about = [f"task {run.summary.get('task', run.config.get('task', '?'))}", f"model {_model(run)}"]
    lead = ", ".join([*about, f"seed {run.summary.get('seed', run.config.get('seed', '?'))}", state])
    return html.page(f"winnow run: {run.name}", lead, _sections(run, figures))


def row_price(run: Run) -> float | None:
    """Return the seconds of a trained row over those of a generated rollout; None where either was not measured.

    It is the ``price`` of rules that weigh rows against rollouts.
    """
    update, rows = (column.sum() for column in run.series("seconds/update", "rows"))
    generate, rollouts = (column.sum() for column in run.series("seconds/generate", "rollouts"))
    return float(update / rows / (generate / rollouts)) if min(update, rows, generate, rollouts) > 0 else None


def headline(run: Run) -> list[tuple[str, str]]:
    """Return the facts that come first, as ``(value, name)``; what was not measured is left out."""
    facts: list[tuple[str, str]] = []
    accuracy = run.series("eval/accuracy")[0]
    if len(accuracy):
        facts.append((f"{accuracy[0]:.1%} → {accuracy[-1]:.1%}", "held-out accuracy, first to last"))
    for key, name in (("rollouts", "rollouts generated"), ("rows", "rollouts trained on")):
        count = run.total(key)
        if count is not None:
            facts.append((f"{count:,.0f}", name))
    seconds, tokens, rows = run.total("seconds"), run.total("tokens"), run.total("rows")
    if seconds is not None:
        facts.append((f"{seconds:,.1f} s", "training time, evaluation aside"))
    if rows is not None and tokens:
        facts.append((f"{1000 * rows / tokens:.1f}", "trained rows per 1,000 generated tokens"))
    if rows is not None and seconds:
        facts.append((f"{rows / seconds:,.1f}", "trained rows per second"))
    if (price := row_price(run)) is not None:
        facts.append((f"{price:.1f}", "generated rollouts that cost as much time as training one"))
    idle = run.series("signal/no_signal")[0]
    if len(idle):
        facts.append((f"{idle.mean():.0%}", "groups without signal, mean over steps"))
    return facts


def _sections(run: Run, figures: Mapping[str, Path]) -> Iterator[str]:
    yield html.cards(headline(run))
    for name, path in figures.items():
        yield html.picture(path, CAPTIONS[name])
    yield from _ledger(run)
    yield from _samples(sample_groups(run))
    yield from _settings(run)


def _ledger(run: Run) -> Iterator[str]:
    found = stages(run.ledger)
    if not found:
        return
    yield html.heading("Ledger", "Where every generated rollout went.")
    rows = [
        (html.text(stage.name), f"{stage.count:,}", f"{stage.lost:,} {stage.why}" if stage.lost else "")
        for stage in found
    ]
    yield html.panel_table(rows, ("stage", "rollouts", "left behind"), numeric=(1,))


def _samples(groups: list[Group]) -> Iterator[str]:
    if not groups:
        return
    yield html.heading("Some rollouts", "Groups of the first, middle and last step, trained rollouts first in each.")
    for place, group in enumerate(groups):
        rows = [_rollout(rollout) for rollout in group.rollouts]
        title = f"step {group.step}, prompt {group.prompt_id}: {group.size} rollouts"
        hidden = group.size - len(rows)
        title += f", {len(rows)} shown" if hidden else ""
        yield (
            f'<details class="panel"{" open" if place == 0 else ""}><summary>{html.text(title)}</summary>'
            f'<pre class="prompt">{html.text(group.prompt)}</pre>'
            + html.table(rows, ("completion", "reward", "advantage", "fate"), numeric=(1, 2))
            + "</details>"
        )


def _rollout(rollout: Record) -> tuple[str, str, str, str]:
    fate = str(rollout.get("fate") or ("trained" if rollout.get("selected") else "not selected"))
    kind = {"trained": "trained", "no signal": ""}.get(fate, "dropped")
    completion = f"<pre>{html.text(rollout.get('text', ''))}</pre>"
    if rollout.get("finish") == "length":
        completion += "<small>cut at the length limit</small>"
    if rollout.get("reason"):
        completion += f"<small>{html.text(rollout['reason'])}</small>"
    reward, advantage = number(rollout.get("reward")), number(rollout.get("advantage"))
    return (
        completion,
        "unscorable" if reward is None else f"{reward:.3g}",
        "" if advantage is None else f"{advantage:+.3f}",
        f'<span class="tag {kind}">{html.text(fate)}</span>',
    )


def _settings(run: Run) -> Iterator[str]:
    if run.config:
        yield html.heading("Settings", "As resolved for this run; config.toml says where each came from.")
        rows = [(html.text(name), f"<code>{html.text(value)}</code>") for name, value in _flat(run.config)]
        yield f"<details><summary>{len(rows)} settings</summary>{html.panel_table(rows)}</details>"
    versions = run.summary.get("versions") or {}
    if versions:
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        weights = str(run.summary.get("weights_sha256", ""))[:16]
        yield f'<p class="note">{html.text(listed)}; weights {html.text(weights)}</p>'


def _flat(config: Record, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _model(run: Run) -> str:
    model = str(run.summary.get("model") or run.config.get("model") or "of the task")
    return Path(model).name or model
