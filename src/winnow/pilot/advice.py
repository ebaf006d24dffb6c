"""Sentences about a pilot, each built from its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MANY_TRUNCATED, MANY_UNSCORABLE = 0.05, 0.01
POOR_FIT = 0.03
KINDS = {
    "all_pass": "solved",
    "all_fail": "all-fail",
    "mixed": "rarely mixed",
    "other_tie": "tied",
    "unscorable": "unscorable",
}


def advice(facts: Mapping[str, Any]) -> list[str]:
    """Return what to know and what to do, most important first.

    Args:
        facts: see `winnow.pilot.report.report`.
    """
    found = [_planned(facts), *_sizes(facts), *_keep(facts), *_hard(facts), *_doubts(facts)]
    return [sentence for sentence in found if sentence]


def _planned(facts: Mapping[str, Any]) -> str:
    at_n = _at(facts, facts["n"])
    groups, prompts = facts["groups"], facts["prompts"]
    seen = (
        f"of {prompts:,} prompts {groups['all_pass']:,} passed all {facts['k']} times and "
        f"{groups['all_fail']:,} never did"
    )
    if at_n is None:
        return f"Groups of n={facts['n']} are beyond a pilot of {facts['k']}: draw --k {facts['n']}; {seen}."
    return (
        f"{at_n['share']:.0%} of groups of {facts['n']} would tie ({at_n['low']:.0%} to {at_n['high']:.0%}"
        f"{', modelled' if at_n['modelled'] else ''}): {seen}."
    )


def _sizes(facts: Mapping[str, Any]) -> list[str]:
    """Compare group sizes by the groups with signal that the same rollouts buy."""
    now = _at(facts, facts["n"])
    if now is None:
        return []
    best = max(facts["no_signal"], key=_useful)
    larger = next((each for each in facts["no_signal"] if each["n"] >= 2 * facts["n"]), None)
    found = []
    if larger is not None:
        found.append(
            f"n={larger['n']} would lower that to {larger['share']:.0%}{_modelled(larger)}, but 1,000 rollouts "
            f"would then buy {_useful(larger):.0f} groups with signal instead of {_useful(now):.0f}."
        )
    if best["n"] < facts["n"] and _useful(best) > 1.1 * _useful(now):
        found.append(
            f"Most groups with signal come at n={best['n']}: {_useful(best):.0f} per 1,000 rollouts, if the update "
            "needs no larger groups."
        )
    return found


def _keep(facts: Mapping[str, Any]) -> list[str]:
    keep, now = facts["keep"], _at(facts, facts["n"])
    dropped = sum(keep["dropped"].values())
    if not dropped:
        return ["No prompt is worth dropping by the rule."]
    what = ", ".join(f"{count:,} {KINDS[kind]}" for kind, count in keep["dropped"].items())
    if not keep["kept"]:
        return [f"No prompt is worth keeping by the rule ({what}): another policy, or other data, is needed."]
    left = keep["no_signal_kept"]
    gain = "" if now is None or now["share"] >= 1 else f", {(1 - left) / (1 - now['share']):.1f} times the signal"
    return [
        f"Dropping {dropped:,} prompts ({what}) leaves {keep['kept']:,}, of whose groups {left:.0%} would "
        f"tie{gain} for the same rollouts."
    ]


def _hard(facts: Mapping[str, Any]) -> list[str]:
    """Say what the prompts that always failed may still hold."""
    count, after = facts["groups"]["all_fail"], facts["all_fail"]
    if not count or after is None:
        return []
    return [
        f"Never passing in {facts['k']} is no proof: such a prompt still has a chance of {after['signal_at_n']:.0%} to "
        f"show signal in a group of {facts['n']}, so about {count * after['signal_at_n']:.0f} of the {count:,} would."
    ]


def _doubts(facts: Mapping[str, Any]) -> list[str]:
    found = []
    if facts["truncated"] >= MANY_TRUNCATED:
        found.append(
            f"{facts['truncated']:.0%} of the completions were cut at max_new_tokens={facts['max_new_tokens']}: raise "
            "it, or the pass rates are those of unfinished answers."
        )
    if facts["unscorable"] >= MANY_UNSCORABLE:
        reason, count = next(iter(facts["reasons"].items()))
        found.append(f"{facts['unscorable']:.0%} of the rollouts could not be scored, {count:,} of them: {reason}.")
    if facts["pass_rate"] == 0:
        found.append(
            f"Not one of {facts['rollouts']:,} rollouts passed: see with winnow audit whether right answers are judged "
            "right before you blame the policy."
        )
    fit = facts["model_fit"]
    if fit is not None and (fit["largest_gap_up_to_k"] or 0) > POOR_FIT:
        found.append(
            f"The model misses what was measured by up to {fit['largest_gap_up_to_k']:.0%}: trust the modelled numbers "
            "less, or draw a larger --k."
        )
    if not facts["binary"]:
        found.append("Outcomes are graded, so groups above k cannot be modelled: draw as many as the run will.")
    return found


def _at(facts: Mapping[str, Any], n: int) -> Mapping[str, Any] | None:
    return next((each for each in facts["no_signal"] if each["n"] == n), None)


def _useful(estimate: Mapping[str, Any]) -> float:
    """Return the groups with signal that 1,000 rollouts buy."""
    return float(1000 * (1 - estimate["share"]) / estimate["n"])


def _modelled(estimate: Mapping[str, Any]) -> str:
    return " (modelled)" if estimate["modelled"] else ""
