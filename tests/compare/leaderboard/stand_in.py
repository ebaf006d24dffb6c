"""A run that takes no time and obeys its settings; what it does is left in the file ``calls``."""

import os
import time
from pathlib import Path

from winnow.compare.leaderboard import child


def work(settings, probe, path, about):
    child._end_with_the_parent()
    folder = Path(settings["folder"])
    with open(folder / "calls", "a", encoding="utf-8") as calls:
        calls.write(f"{about['recipe']} {about['seed']} {os.environ['OMP_NUM_THREADS']}\n")
    if settings.get("dies"):
        os._exit(7)
    if settings.get("waits") and not (folder / "go").exists():
        (folder / "waiting").write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(60)
    error = settings.get("error") if not (folder / "mended").exists() else None
    child.write_record(Path(path), {**about, "error": error, "curve": {"accuracy": [0.5]}})
