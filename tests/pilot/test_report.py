from types import SimpleNamespace

import numpy as np
import pytest

from tests.pilot.tallies import drawn, tally
from winnow.pilot import Pilot, report
from winnow.pilot.report import groups, pass_rates


def measured(tallies, k=8, n=8, **changes):
    prompts = [SimpleNamespace(id=each.prompt_id) for each in tallies]
    known = {
        "task": "t", "model": "m", "reward": "r", "k": k, "available": 1000, "asked": len(tallies), "drawn": 10,
        "seconds": 2.0, "n": n, "max_new_tokens": 64,
    }  # fmt: skip
    return Pilot(prompts=prompts, tallies=tallies, **{**known, **changes})


def test_pass_rates_tell_never_and_always_apart():
    tallies = [tally("a", *[0.0] * 4), tally("b", 1.0, 0.0, 0.0, 0.0), tally("c", *[1.0] * 4), tally("d", None)]
    found = pass_rates(tallies)
    assert (found["none"], found["all"], found["0.2 to 0.3"], sum(found.values())) == (1, 1, 1, 3)


def test_groups_count_every_prompt_once():
    tallies = [
        tally("a", 0.0, 0.0), tally("b", 1.0, 1.0), tally("c", 0.5, 0.5), tally("d", 1.0, 0.0), tally("e", None, None),
    ]  # fmt: skip
    assert groups(tallies) == {"all_fail": 1, "all_pass": 1, "other_tie": 1, "mixed": 1, "unscorable": 1}


def test_the_words_are_the_numbers():
    tallies = drawn(np.random.default_rng(0).beta(0.3, 0.5, 400), 8)
    facts, judged = report(measured(tallies))
    at = {each["n"]: each for each in facts["no_signal"]}
    assert [at[n]["modelled"] for n in (2, 4, 8, 16, 32)] == [False, False, False, True, True]
    text = " ".join(facts["advice"])
    assert f"{at[8]['share']:.0%} of groups of 8 would tie" in text
    assert f"lower that to {at[16]['share']:.0%} (modelled)" in text
    kept = sum(judged.kept)
    assert facts["keep"]["kept"] == kept and f"leaves {kept:,}" in text
    # What is left ties less often than everything did.
    assert facts["keep"]["no_signal_kept"] < at[8]["share"]
    assert facts["model_fit"]["largest_gap_up_to_k"] < 0.03
    assert facts["rollouts_per_second"] == 5.0


def test_kept_prompts_tie_as_often_as_promised():
    rng = np.random.default_rng(5)
    rates = rng.beta(0.3, 0.5, 4000)
    tallies = drawn(rates, 8, seed=9)
    facts, judged = report(measured(tallies))
    kept = rates[np.array(judged.kept)]
    assert facts["keep"]["no_signal_kept"] == pytest.approx(np.mean(kept**8 + (1 - kept) ** 8), abs=0.02)


@pytest.mark.parametrize(
    ("tallies", "said"),
    [
        ([tally(str(i), *[0.0] * 8) for i in range(9)], "Not one of 72 rollouts passed"),
        ([tally(str(i), 1.0, 0.0, *[None] * 6) for i in range(9)], "75% of the rollouts could not be scored"),
        ([tally(str(i), *[1.0] * 4, *[0.0] * 4) for i in range(9)], "No prompt is worth dropping"),
    ],
)
def test_troubles_are_told(tallies, said):
    facts, _ = report(measured(tallies))
    assert said in " ".join(facts["advice"])


def test_truncation_is_told():
    seen = tally("a", 0.0, 1.0)
    seen.add(0.0, tokens=64, truncated=True)
    facts, _ = report(measured([seen]))
    assert facts["truncated"] == pytest.approx(1 / 3) and "max_new_tokens=64" in " ".join(facts["advice"])
