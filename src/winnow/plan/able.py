"""What a recipe asks of a trainer beyond settings; the adapters refuse what is refused here, in the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.errors import ConfigError
from winnow.plan.hosts import HOSTS

if TYPE_CHECKING:
    from winnow.objective.config import Objective
    from winnow.recipe import Recipe

ELSEWHERE = "use the embedded trainer (winnow train), or "


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a trainer can tell of rollouts, and why it cannot do the rest.

    Attributes:
        columns: known of every rollout beyond reward, outcome and length.
        why_columns: what becomes of the others.
        why_branches: who cannot continue a rollout from inside.
        why_recall: why rollouts of earlier steps do not train again.
        why_geometric: why a rollout has no geometric mean of clipped ratios.
        length: its name for the most tokens of a completion.
    """

    columns: tuple[str, ...]
    why_columns: str
    why_branches: str
    why_recall: str
    why_geometric: str
    length: str


ABILITIES = {
    "trl": Abilities(
        columns=("truncated",),
        why_columns="of every rollout, which in TRL stay on the rank that sampled it",
        why_branches="TRL's engines",
        why_recall="which TRL does not keep",
        why_geometric="TRL's losses have a ratio per token, or one per sequence that is clipped as a whole, where this "
        "one clips tokens",
        length="max_completion_length",
    ),
    "verl": Abilities(
        columns=(),
        why_columns="of every rollout, and verl's agent loops report reward, outcome and tokens alone",
        why_branches="verl's agent loops",
        why_recall="which verl clears from its queue after each step",
        why_geometric="verl's loss of this kind (geo_mean) divides by the rows of a micro-batch, padding included, so "
        "that their number would change the update",
        length="data.max_response_length",
    ),
}
"""By host, see `winnow.plan.HOSTS`."""


def check_able(recipe: Recipe, host: str) -> None:
    """Refuse a recipe that a trainer cannot run at all.

    Raises:
        ConfigError: it says what is missing.
    """
    able, name = ABILITIES[host], f"recipe {recipe.name!r}"
    if recipe.branches:
        raise ConfigError(
            f"{name} continues rollouts from inside, which {able.why_branches} cannot; {ELSEWHERE}another recipe"
        )
    if recipe.recall is not None:
        raise ConfigError(
            f"{name} trains again on rollouts of earlier steps, {able.why_recall}; {ELSEWHERE}set recall=None"
        )
    if missing := [column for column in recipe.needs if column not in able.columns]:
        raise ConfigError(f"{name} needs {', '.join(missing)} {able.why_columns}; {ELSEWHERE}another recipe")
    if getattr(recipe.advantage, "longest", 0) is None:
        raise ConfigError(f"{name} needs longest=..., the most tokens of a completion: set it to {able.length}")


def check_loss(objective: Objective, host: str) -> None:
    """Refuse a loss that a trainer does not have.

    Raises:
        ConfigError: it says which.
    """
    if objective.ratio != "token":
        why = ABILITIES[host].why_geometric
        raise ConfigError(f"ratio={objective.ratio!r}: {why}; {ELSEWHERE}ratio='token'")
    if objective.flow_beta:
        raise ConfigError(
            f"flow_beta={objective.flow_beta:g}: the loss of trajectory balance needs a partition head, which "
            f"{HOSTS[host]} does not train; {ELSEWHERE}flow_beta=0"
        )


def refusal(recipe: Recipe, host: str) -> str | None:
    """Return why a trainer cannot run a recipe as it stands, None where it can; its settings are not looked at."""
    try:
        check_able(recipe, host)
        check_loss(recipe.objective, host)
    except ConfigError as error:
        return str(error)
    return None
