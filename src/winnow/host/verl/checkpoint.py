"""What a recipe adds to a checkpoint of verl: ``winnow.json`` beside ``actor/`` and ``data.pt``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ray
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.utils.checkpoint.checkpoint_manager import find_latest_ckpt_path

from winnow.host import checkpoint
from winnow.host.verl import driver
from winnow.host.verl.settings import Settings, value
from winnow.host.verl.setup import Setup


class WinnowCheckpoint(CheckpointCallback):  # type: ignore[misc, unused-ignore]
    """Saves the state of the recipe and the account of the run; needed by recipes with state, welcome with any."""

    def on_save(self, trainer: Any, global_step: int, checkpoint_dir: str, async_save: bool = False, **_: Any) -> None:
        """Write the file, after verl has written its own."""
        checkpoint.save(Path(checkpoint_dir), ray.get(driver.coordinator().state_dict.remote()))


def saved_state(config: Settings, setup: Setup) -> dict[str, Any] | None:
    """Return what was saved with the checkpoint that verl resumes from; None without one, or without the file.

    Raises:
        ResumeError: it belongs to another recipe, budget or seed; the message shows the difference.
    """
    folder = _resumed_from(config)
    return None if folder is None else checkpoint.load(folder, setup.identity)


def _resumed_from(config: Settings) -> Path | None:
    """Return the folder that verl's trainer loads (`PPOTrainer._load_checkpoint`)."""
    mode = value(config, "trainer.resume_mode", "disable")
    if mode == "resume_path":
        return Path(value(config, "trainer.resume_from_path")).absolute()
    if mode != "auto":
        return None
    found = find_latest_ckpt_path(str(Path(value(config, "trainer.default_local_dir")).absolute()))
    return None if found is None else Path(found)
