"""Rewards that attack the pool itself; the completion says how."""

import gc
import json
import os
import signal
import struct
import sys
import time

HOUR = 3600


def descriptors(kind):
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if kind in os.readlink(f"/proc/self/fd/{name}"):
                found.append(int(name))
        except OSError:
            continue
    return found


def words():
    """The words of the clock, found the way that foreign code would."""
    [clock] = [thing for thing in gc.get_objects() if type(thing).__name__ == "Clock"]
    return clock._words


def write_everywhere():
    for descriptor in range(3, 64):
        try:
            os.pwrite(descriptor, b"\x01" * 16, 0)
        except OSError:
            try:
                os.write(descriptor, struct.pack("<I", 1_000_000))
            except OSError:
                continue
    time.sleep(HOUR)


def clock_of_another_item():
    words()[0] = 1 << 40
    words()[1] = 1
    time.sleep(HOUR)


def clock_in_the_future():
    words()[1] = 1 << 62
    time.sleep(HOUR)


def clock_stopped():
    words()[1] = 0
    time.sleep(HOUR)


def clock_running():
    while True:
        words()[1] = time.monotonic_ns()
        time.sleep(0.01)


def clock_and_exit():
    words()[0] = 1 << 40
    os._exit(3)


def truncate():
    for descriptor in descriptors("memfd"):
        try:
            os.ftruncate(descriptor, 0)
        except OSError:
            continue


def say(payload):
    for descriptor in descriptors("socket"):
        os.write(descriptor, struct.pack("<I", len(payload)) + payload)


def flood():
    while True:
        say(json.dumps([["ready", -1, 0.0, None]] * 1000).encode())


def orphan_and_kill_the_nursery():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            time.sleep(HOUR)
        os._exit(0)
    os.wait()
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(HOUR)


def leave_at_length():
    sys.exit("x" * 1_000_000)


def hostile(completion):
    """Do what the completion names before the colon, or say what stands there, and score what stands after it."""
    what, _, score = completion.rpartition(":")
    if what.startswith("["):
        say(what.encode())
        time.sleep(0.2)
    elif what:
        globals()[what]()
    return float(score)
