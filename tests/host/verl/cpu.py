"""A CPU as one of verl's platforms, for tests: verl itself knows accelerators only.

Loaded in every process by ``VERL_USE_EXTERNAL_MODULES``. With ``VERL_ENGINE_DEVICE=cuda`` verl's FSDP engine runs on
it.
"""

from __future__ import annotations

import contextlib
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import torch
from verl.plugin.platform import platform_manager
from verl.plugin.platform.platform_base import PlatformBase


def _nothing(*_: Any, **__: Any) -> int:
    return 0


IGNORED = [
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "empty_cache",
    "synchronize",
    "set_device",
    "current_device",
    "manual_seed",
    "ipc_collect",
    "reset_peak_memory_stats",
]
MODULE = SimpleNamespace(
    **dict.fromkeys(IGNORED, _nothing),
    mem_get_info=lambda *_: (0, 0),
    is_available=lambda: True,
    get_device_name=lambda *_: "cpu",
    device_count=lambda: 1,
    get_rng_state=torch.get_rng_state,
    set_rng_state=torch.set_rng_state,
    Stream=torch.cpu.Stream,
    stream=torch.cpu.stream,
    current_stream=torch.cpu.current_stream,
)


class PlatformCPU(PlatformBase):
    device_name = "cpu"
    vendor_name = "none"
    device_module = MODULE

    def is_available(self):
        return True

    def current_device(self):
        return "cpu"

    def device_count(self):
        return 1

    def set_device(self, device_index):
        pass

    def synchronize(self, device_index=None):
        pass

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings):
        pass

    def empty_cache(self):
        pass

    def get_device_capability(self, device_index=0):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CPU_VISIBLE_DEVICES"

    def ray_resource_name(self):
        return "CPU"

    def ray_resource_options(self, num_gpus):
        return {"num_cpus": 1}

    def ray_noset_envvars(self):
        return []

    def is_ipc_supported(self):
        return False

    def rollout_env_vars(self):
        return {}

    def get_collective_module(self):
        return None

    @contextlib.contextmanager
    def nvtx_range(self, msg):
        yield

    def profiler_start(self):
        pass

    def profiler_stop(self):
        pass

    def cudart(self):
        return None


platform_manager._current_platform = PlatformCPU()

# verl's FSDP engine patches a class that trl dropped after 0.27; nothing here uses it.
_value_head = ModuleType("trl.experimental.ppo")
_value_head.AutoModelForCausalLMWithValueHead = type("AutoModelForCausalLMWithValueHead", (), {})
sys.modules.setdefault("trl.experimental.ppo", _value_head)
