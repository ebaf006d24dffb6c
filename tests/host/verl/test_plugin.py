"""What ``import verl`` does with winnow installed, in fresh processes and in Ray's."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("verl")

ASK = "import verl; from verl.trainer.ppo.core_algos import get_adv_estimator_fn as f; print(f('winnow').__module__)"


def python(code, policy):
    environment = {key: value for key, value in os.environ.items() if key != "VERL_USE_EXTERNAL_MODULES"}
    environment["VERL_USE_EXTERNAL_PLUGINS"] = policy
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=environment, timeout=250
    )


def test_import_verl_registers_the_estimator():
    found = python(ASK, "auto")
    assert "winnow.host.verl.advantage" in found.stdout, found.stderr


def test_without_plugins_the_replay_buffer_registers_it():
    found = python(
        "import verl; from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY as known\n"
        "print('before', 'winnow' in known)\n"
        "import winnow.host.verl.replay\n"
        "print('after', 'winnow' in known)",
        "none",
    )
    assert "before False" in found.stdout and "after True" in found.stdout, found.stderr


def test_a_ray_worker_knows_it_too(cluster):
    import ray

    @ray.remote
    def ask():
        import verl  # noqa: F401
        from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY

        return "winnow" in ADV_ESTIMATOR_REGISTRY

    assert ray.get(ask.remote())


def test_the_estimator_without_the_buffer_says_what_is_missing():
    import torch

    from winnow.errors import ConfigError
    from winnow.host.verl import driver
    from winnow.host.verl.advantage import estimate

    driver.set_worth(None)
    with pytest.raises(ConfigError, match=r"custom_sampler\.path=pkg:"):
        estimate(torch.zeros(1, 2), torch.ones(1, 2), ["a"])
