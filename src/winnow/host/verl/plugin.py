"""Loaded by ``import verl`` in every process (entry point ``verl.plugins``): makes the advantage estimator known.

verl swallows what goes wrong here. `WinnowReplayBuffer` registers the estimator as well, so that a run does not hang on
``VERL_USE_EXTERNAL_PLUGINS``; without that buffer the estimator says what is missing.
"""

from winnow.host.verl import versions

versions.check()

from winnow.host.verl.advantage import register  # noqa: E402

register()
