"""winnow inside TRL: a `GRPOTrainer` with ``recipe=``.

    from winnow.host.trl import WinnowGRPOTrainer

    trainer = WinnowGRPOTrainer(model=..., reward_funcs=..., args=..., train_dataset=..., recipe="pods")

Importing it checks the version of TRL. `grpo_config` works the batch sizes out from prompts, `as_function` makes a
reward function of one of winnow's rewards.
"""

from winnow.host.trl import versions

versions.check()

from winnow.host.trl.ranks import RankLost  # noqa: E402
from winnow.host.trl.rewards import as_function  # noqa: E402
from winnow.host.trl.settings import grpo_config  # noqa: E402
from winnow.host.trl.trainer import WinnowGRPOTrainer  # noqa: E402

__all__ = ["RankLost", "WinnowGRPOTrainer", "as_function", "grpo_config"]
