import os

import pytest
from tests.reward.code.processes import children, command, launcher

from winnow.reward.code import isolation, sandbox


@pytest.fixture(scope="session")
def isolated():
    """Skip where the system offers no isolation."""
    found = isolation()
    if not found.available:
        pytest.skip(f"isolation is {found.describe()}")
    return found


@pytest.fixture
def no_leftovers(isolated):
    """Hold that nothing the test ran is alive afterwards, and nothing waits to be reaped."""
    before = set(children(os.getpid()))
    yield
    assert children(launcher()) == []
    launchers = {process.process.pid for process in sandbox._launchers.values()}
    ours = [pid for pid in children(os.getpid()) if b"resource_tracker" not in command(pid)]
    assert set(ours) <= launchers | before
