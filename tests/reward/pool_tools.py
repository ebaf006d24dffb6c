"""What the tests of the pool share."""

import os
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from winnow.reward import Item
from winnow.reward.pool import Pool
from winnow.rollout import Prompt

FILE = Path(__file__).parent / "pool_rewards.py"
PROMPT = Prompt("train:3", "2 + 5", "7")


def named(name):
    """The specification of a function of pool_rewards.py."""
    return f"{FILE}:{name}"


def items(*completions, **fields):
    prompt = Prompt("train:3", "2 + 5", "7", fields) if fields else PROMPT
    return [Item(prompt, text, f"0/{draw}") for draw, text in enumerate(completions)]


def scores(verdicts):
    return [verdict.score for verdict in verdicts]


def marked(mark):
    """The processes, apart from this one, that have ``mark`` in their environment (Linux)."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def eventually(condition, seconds=10.0):
    """Wait until ``condition()`` is true; returns whether it became so."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


@contextmanager
def shared_pools():
    """Give a function that makes each pool once, for tests that do not care what it scored before."""
    made = {}
    with ExitStack() as stack:

        def pool(name, **settings):
            key = (name, *sorted(settings.items()))
            if key not in made:
                made[key] = stack.enter_context(Pool(named(name), **settings))
            return made[key]

        yield pool
