import errno
import struct

import pytest

from winnow.reward.code.inside import syscalls

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def decide(machine, number, *, architecture=None, argument=0):
    """Interpret the filter as the kernel would."""
    code = list(struct.iter_unpack("=HBBI", syscalls.build_filter(machine)))
    data = {0: number, 4: ARCHITECTURE[machine] if architecture is None else architecture, 16: argument}
    at, loaded = 0, 0
    while True:
        operation, yes, no, value = code[at]
        at += 1
        if operation == 0x20:
            loaded = data[value]
        elif operation == 0x06:
            return value
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[operation]
            at += yes if holds else no


def refused(code):
    return 0x00050000 | code


@pytest.mark.parametrize(
    ("machine", "allowed", "denied", "clone", "pair"),
    [
        # read write openat execve exit_group futex / ptrace mount unshare bpf io_uring_setup socket keyctl kexec_load
        ("x86_64", (0, 1, 257, 59, 231, 202), (101, 165, 272, 321, 425, 41, 250, 246, 9999), 56, 53),
        ("aarch64", (63, 64, 56, 221, 94, 98), (117, 40, 97, 280, 425, 198, 219, 104, 9999), 220, 199),
    ],
)
def test_filter(machine, allowed, denied, clone, pair):
    assert [decide(machine, number) for number in allowed] == [ALLOW] * len(allowed)
    assert [decide(machine, number) for number in denied] == [refused(errno.EPERM)] * len(denied)
    assert decide(machine, allowed[0], architecture=0x40000003) == KILL
    for flag in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert decide(machine, clone, argument=flag | 17) == refused(errno.EPERM)
    assert decide(machine, clone, argument=0x3D0F00) == ALLOW
    assert decide(machine, 435) == refused(errno.ENOSYS)
    assert decide(machine, pair, argument=1) == ALLOW
    assert decide(machine, pair, argument=2) == refused(errno.EPERM)


def test_x32_calls_are_refused():
    assert decide("x86_64", 0x40000000) == refused(errno.EPERM)
