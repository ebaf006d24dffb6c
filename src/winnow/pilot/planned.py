"""The pilot of ``winnow plan``: the share of groups without signal at the planned size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from winnow.errors import RewardError
from winnow.pilot.estimate import no_signal
from winnow.pilot.report import pass_rates
from winnow.pilot.run import pilot

if TYPE_CHECKING:
    from winnow.train import TrainConfig

SIZES = (2, 4, 8, 16, 32, 64)


def planned(config: TrainConfig, prompts: int, n: int) -> dict[str, Any]:
    """Draw n rollouts of ``prompts`` training prompts, chosen by the seed, and count what ties; nothing is written.

    Returns:
        ``from``; ``at_n`` and ``by_n``, the shares without signal, estimated without bias for sizes up to n;
        ``pass_rates``, a histogram; ``prompts`` and ``with_signal``, counts.

    Raises:
        RewardError: no prompt had n scorable rollouts.
    """
    found = pilot(config, k=n, prompts=prompts, log=False)
    whole = [tally for tally in found.tallies if tally.scorable == n]
    if not whole:
        raise RewardError("the pilot could not score all rollouts of a single prompt; see `winnow check`")
    shares = {each.n: each.share for each in no_signal(whole, [n, *(size for size in SIZES if size < n)])}
    return {
        "from": f"a pilot of {n} rollouts of each of {len(whole)} prompts",
        "at_n": shares[n],
        "by_n": {str(size): share for size, share in shares.items()},
        "pass_rates": pass_rates(whole),
        "prompts": len(whole),
        "with_signal": sum(tally.mixed for tally in whole),
    }
