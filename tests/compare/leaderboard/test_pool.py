import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.compare.leaderboard import stand_in
from winnow.compare.leaderboard import child, pool
from winnow.compare.leaderboard.plan import Cell

ROOT = Path(__file__).parents[3]
DRIVER = """
import sys
from pathlib import Path
from tests.compare.leaderboard import stand_in
from tests.compare.leaderboard.test_pool import cell
from winnow.compare.leaderboard import child, pool

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    child.work, pool.PRELOAD = stand_in.work, ["tests.compare.leaderboard.stand_in"]
    pool.run_cells([cell(folder, seed, waits=seed == 2) for seed in range(4)], folder, jobs=1)
"""


def cell(folder, seed=0, **behaviour):
    return Cell("final", "grpo", "wide", seed, 1e-4, {"folder": str(folder), **behaviour}, "0" * 8)


def calls(folder):
    return [line.split()[1] for line in (folder / "calls").read_text().splitlines()]


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(child, "work", stand_in.work)
    monkeypatch.setattr(pool, "PRELOAD", ["tests.compare.leaderboard.stand_in"])


def test_a_finished_cell_is_never_run_again_and_every_run_has_one_thread(tmp_path):
    cells = [cell(tmp_path, seed) for seed in (0, 1)]
    first = pool.run_cells(cells, tmp_path, jobs=2)
    assert sorted(outcome.cell.seed for outcome in first if not outcome.kept) == [0, 1]
    again = pool.run_cells([*cells, cell(tmp_path, 2)], tmp_path)
    assert [outcome.kept for outcome in again] == [True, True, False]
    assert sorted(calls(tmp_path)) == ["0", "1", "2"]
    assert {line.split()[2] for line in (tmp_path / "calls").read_text().splitlines()} == {"1"}


def test_a_run_that_fails_or_dies_is_a_record_and_the_others_go_on(tmp_path):
    cells = [cell(tmp_path, 0, error="ConfigError: no"), cell(tmp_path, 1, dies=True), cell(tmp_path, 2)]
    found = pool.run_cells(cells, tmp_path)
    assert [outcome.record["error"] for outcome in found] == ["ConfigError: no", "the process died: exit code 7", None]
    assert all(outcome.kept for outcome in pool.run_cells(cells, tmp_path))
    (tmp_path / "mended").touch()
    mended = pool.run_cells(cells[:1], tmp_path, retry=True)
    assert mended[0].record["error"] is None and calls(tmp_path).count("0") == 2


def test_a_run_beyond_the_limit_is_ended_and_says_so(tmp_path):
    found = pool.run_cells([cell(tmp_path, 0, waits=True)], tmp_path, limit=1.5)
    assert found[0].record["error"] == "the process died: ended after 1.5 s"


def test_killed_in_the_middle_it_leaves_no_process_and_goes_on_where_it_was(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    driver = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment, cwd=ROOT)
    _until(lambda: (tmp_path / "waiting").exists() and (tmp_path / "waiting").read_text())
    run = int((tmp_path / "waiting").read_text())
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    _until(lambda: not _alive(run))
    assert pool.read_record(tmp_path, cell(tmp_path, 1))["error"] is None
    assert pool.read_record(tmp_path, cell(tmp_path, 2)) is None
    (tmp_path / "go").touch()
    found = pool.run_cells([cell(tmp_path, seed, waits=seed == 2) for seed in range(4)], tmp_path)
    assert [outcome.kept for outcome in found] == [True, True, False, False]
    assert calls(tmp_path) == ["0", "1", "2", "2", "3"]


def test_a_record_is_there_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a" / "b.json"
    child.write_record(path, {"error": None})
    with pytest.raises(TypeError):
        child.write_record(path, {"error": object()})
    assert json.loads(path.read_text()) == {"error": None}
    assert list(path.parent.iterdir()) == [path]


def _alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def _until(reached, seconds=120):
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)
