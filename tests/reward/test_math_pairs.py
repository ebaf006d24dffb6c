"""Every pair of the tables and of the generator has the verdict it deserves."""

import hashlib
from collections import defaultdict

import pytest

pytest.importorskip("math_verify")

from tests.reward import math_pairs

from winnow.reward.math import unreadable, verify

GROUPS = defaultdict(list)
for source in (math_pairs.development, math_pairs.generated):
    for pair in source():
        GROUPS[f"{source.__name__}-{pair.kind}"].append(pair)


# The held-out pairs were written before the verifier, and their failures were left alone: docs/math-verifier.md.
FROZEN = "b1a9cb27654d50fd7b7725e506350ed685101a9386523b725250042a6fa4074f"
KNOWN_FAILURES = [r"powers and factorials: gold '\\binom{10}{3}', completion '\\boxed{\\frac{10!}{3!7!}}'"]


def wrong_verdicts(pairs):
    found = []
    for pair in pairs:
        outcome = verify(pair.gold, pair.completion).outcome
        if outcome != (None if pair.right is None else float(pair.right)):
            found.append(f"{pair}, got {outcome}")
    return found


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_pairs(group):
    assert wrong_verdicts(GROUPS[group]) == []


def test_held_out_pairs():
    assert hashlib.sha256((math_pairs.HERE / "held_out.txt").read_bytes()).hexdigest() == FROZEN
    found = wrong_verdicts(math_pairs.held_out())
    assert [failure.partition(", expected")[0] for failure in found] == KNOWN_FAILURES


def test_there_are_many_pairs_of_many_kinds():
    assert sum(map(len, GROUPS.values())) > 2000
    assert len({pair.kind for pairs in GROUPS.values() for pair in pairs}) > 25


def test_readable_golds_are_right_and_unreadable_ones_never_are():
    golds = {pair.gold: pair.right is None for pairs in GROUPS.values() for pair in pairs}
    assert [gold for gold, bad in golds.items() if bool(unreadable(gold)) != bad] == []
    outcomes = {gold: verify(gold, f"\\boxed{{{gold}}}").outcome for gold in golds}
    assert [gold for gold, bad in golds.items() if outcomes[gold] != (None if bad else 1.0)] == []
