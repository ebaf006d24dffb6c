"""What the processes of a run do together, and a readable end when one of them is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from winnow.errors import ConfigError, WinnowError
from winnow.groups import IntArray

T = TypeVar("T")

_GONE = ("gloo", "nccl", "connection closed by peer")
"""Words by which torch's collectives fail; errors of reward functions must not be taken for these."""


class RankLost(WinnowError, RuntimeError):
    """Another process of the run has ended or does not answer; the message names rank, phase and step."""

    exit_code = 3


class Ranks:
    """The processes of a run.

    Args:
        accelerator: of the trainer.
        step: returns the optimiser step, for errors.
    """

    def __init__(self, accelerator: Accelerator, step: Callable[[], int]) -> None:
        self.size: int = accelerator.num_processes
        self.rank: int = accelerator.process_index
        self._step = step
        self._phase = ""

    def gather(self, objects: list[T]) -> list[T]:
        """Return the objects of all ranks, in the order of ranks; lists may differ in length."""
        return list(gather_object(objects)) if self.size > 1 else objects

    def share(self, rows: IntArray) -> IntArray:
        """Return this rank's part of ``rows``, equally long on every rank.

        Parts follow each other in the order of ranks. Where the rows do not divide, the last row is repeated at the
        end: `surplus` says how often.
        """
        padded = np.concatenate((rows, np.repeat(rows[-1:], self.surplus(len(rows)))))
        part: IntArray = np.split(padded, self.size)[self.rank]
        return part

    def surplus(self, rows: int) -> int:
        """Return how many rows are missing to the next multiple of the number of ranks."""
        return -rows % self.size

    def agree(self, value: int, what: str) -> None:
        """Check that every rank holds the same value; every rank must call it.

        Raises:
            ConfigError: they differ. Going on would leave ranks waiting for each other for ever.
        """
        values = self.gather([value])
        if any(other != values[0] for other in values):
            raise ConfigError(
                f"the ranks decided differently about {what} in step {self._step()} (values {values}): a rule of the "
                "recipe depends on something other than its seed and the rewards; make it deterministic"
            )

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Name what is going on, and turn a broken connection into an error that says so.

        Raises:
            RankLost: a collective failed because another rank is gone or silent.
        """
        outer, self._phase = self._phase, name
        try:
            yield
        except RankLost:
            raise
        except RuntimeError as error:
            if self.size > 1 and _broken(error):
                raise RankLost(
                    f"rank {self.rank} of {self.size} lost contact with another rank in phase {name!r} of step "
                    f"{self._step()}: a process was killed, ran out of memory or failed with an error of its own; look "
                    "at the output of the other ranks first (GRPOConfig(ddp_timeout=...) is how long a silent rank is "
                    f"waited for). The collective said: {str(error).splitlines()[0]}"
                ) from error
            raise
        finally:
            self._phase = outer


def _broken(error: RuntimeError) -> bool:
    """Tell a failed collective from an error of the computation itself."""
    return isinstance(error, torch.distributed.DistError) or any(sign in str(error).lower() for sign in _GONE)
