"""A trainer that keeps what it did, for tests to look at."""

from __future__ import annotations

from typing import Any

from trl import GRPOTrainer

from winnow.host.trl import WinnowGRPOTrainer


class Watched(WinnowGRPOTrainer):
    """Keeps what every step drew and what TRL was handed for training."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.drawn: list[Any] = []
        self.outputs: list[dict[str, Any]] = []

    def _draw(self, examples: Any) -> Any:
        self.drawn.append(super()._draw(examples))
        return self.drawn[-1]

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        output = super()._generate_and_score_completions(inputs)
        if self.model.training:
            self.outputs.append({name: value.clone() for name, value in output.items()})
        return output


def lines(run: GRPOTrainer) -> list[dict[str, Any]]:
    """What a finished run has logged about its steps."""
    return [line for line in run.state.log_history if "loss" in line]
