"""One Ray and one TransferQueue for all tests that need them; skipped where verl is not installed."""

import os
from importlib.util import find_spec

import pytest

from tests.host.verl import rig

if find_spec("verl") is not None:
    rig.environment()


@pytest.fixture(scope="session")
def verl_files(tmp_path_factory):
    pytest.importorskip("verl")
    return rig.files(tmp_path_factory.mktemp("verl"))


@pytest.fixture(scope="session")
def cluster():
    """A local Ray with TransferQueue. Its agents have 15 seconds to start, which a busy machine may need twice."""
    pytest.importorskip("verl")
    import ray
    import transfer_queue as tq

    sizes = {"num_cpus": 16, "include_dashboard": False, "object_store_memory": 200_000_000}
    for attempt in range(3):
        try:
            ray.init(log_to_driver=False, **({} if "RAY_ADDRESS" in os.environ else sizes))
            break
        except Exception:
            ray.shutdown()
            if attempt == 2:
                raise
    config = rig.compose()
    config.transfer_queue.enable = True
    config.transfer_queue.backend.SimpleStorage.num_data_storage_units = 1
    tq.init(config.transfer_queue)
    yield
    tq.close()
    ray.shutdown()
