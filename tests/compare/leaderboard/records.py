"""Records made up, as a run would have left them."""

from winnow.compare.leaderboard import child

STEPS = 4


def record(cell, accuracy, *, rows=64, waves=1, cpu=0.4, no_signal=0.25, scale=10.0):
    """Return the record of a run that rises from 0.4 to ``accuracy`` in a straight line."""
    half = (0.4 + accuracy) / 2
    about = {"stage": cell.stage, "recipe": cell.recipe, "task": cell.task, "seed": cell.seed, "lr": cell.lr}
    return {
        **about,
        "settings": dict(cell.settings),
        "error": None,
        "curve": {"step": [0, 2, 4], "rollouts": [0, 256, 512], "accuracy": [0.4, half, accuracy]},
        "steps": {
            "prompts": [16] * STEPS,
            "rollouts": [128] * STEPS,
            "rows": [rows] * STEPS,
            "recalled_rows": [0] * STEPS,
            "waves": [waves] * STEPS,
            "cpu": [9.0, None, cpu, None],
        },
        "means": {
            "signal/no_signal": no_signal,
            "signal/all_pass": 0.1,
            "signal/all_fail": 0.15,
            "grad_norm": 1.0,
            "length/mean": 5.0,
            "contrasts": 16 * (1 - no_signal),
        },
        "skipped": 0,
        "cpu_seconds": 3600.0,
        "noise": {"steps": 16, "signal": 0.1, "noise": 0.1 * scale, "scale": scale} if cell.stage == "probe" else None,
    }


def failed(cell, error="ConfigError: no"):
    about = {"stage": cell.stage, "recipe": cell.recipe, "task": cell.task, "seed": cell.seed, "lr": cell.lr}
    return {**about, "settings": dict(cell.settings), "error": error}


def write(folder, cell, content):
    child.write_record(folder / cell.name, content)
