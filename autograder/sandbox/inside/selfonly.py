"""A second system call filter for boxes that share their user id with others: calls reach oneself only.

Without namespaces, processes of one user may signal each other, change each other's limits and connect to
each other's sockets; and Landlock has no say in a file's mode, times and, before Linux 6.2, length. This
filter is loaded before that of seccomp.py, which allows no other to follow; a call has to pass both. It
knows the box's own process id, so it is put together in the box. Layout: seccomp(2), struct sock_filter.
"""

from __future__ import annotations

import errno
import os
import platform
import struct

NUMBERS = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "truncate": (76, 45),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
}
"""System call → its number on x86-64 and on ARM64, where the old ones do not exist."""

MACHINES = ("x86_64", "aarch64")
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open")
SETTINGS = ("prlimit64", "sched_setaffinity")
"""Here 0 means oneself."""
ATTRIBUTES = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat")
"""These seem to succeed and change nothing: libraries that copy files call them and need no effect."""
SOCK_STREAM, SOCK_SEQPACKET = 1, 5
_KINDS_OF_SOCKET = 0xF
_ACCESS_AND_TRUNCATE = os.O_ACCMODE | os.O_TRUNC

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_NUMBER, _ARGUMENTS = 0, 16
_ALLOW, _REFUSE = 0x7FFF_0000, 0x0005_0000
_PRETEND = _REFUSE
"""Error number 0: nothing is done, and the caller is told that it was."""


def program(pid: int, *, signals: bool, truncation: bool) -> bytes:
    """The filter for a box whose first process has this id.

    Args:
        pid: the only process that may be signalled or changed.
        signals: whether signals are restricted here; Landlock does it better where it can (since ABI 6),
            because then the box's processes may signal each other.
        truncation: whether to refuse truncating without opening for writing; Landlock does since ABI 3.

    Raises:
        OSError: this architecture is not supported.
    """
    if platform.machine() not in MACHINES:
        raise OSError(0, f"seccomp: the architecture {platform.machine()} is not supported")
    rules = [_only(name, 0, (0, pid)) for name in SETTINGS]
    rules += [_only(name, 0, (pid,)) for name in SIGNALS if signals]
    # A path or an abstract name leads to any program of the same user that listens: a desktop's message
    # bus, a key agent, a container engine. Pairs of connected sockets lead nowhere else, except datagrams.
    rules += [_only("socket", 0, ()), _only("connect", 0, ())]
    rules += [_only("socketpair", 1, (SOCK_STREAM, SOCK_SEQPACKET), mask=_KINDS_OF_SOCKET)]
    rules += [_only(name, 0, (), refusal=_PRETEND) for name in ATTRIBUTES]
    if truncation:
        rules += [_only("truncate", 0, ()), _only("openat2", 0, (), refusal=_REFUSE | errno.ENOSYS)]
        rules += [
            _only(name, argument, (os.O_TRUNC,), mask=_ACCESS_AND_TRUNCATE, forbidden=True)
            for name, argument in (("open", 1), ("openat", 2))
        ]
    return b"".join(rules) + _instruction(_RETURN, _ALLOW)


def _only(
    name: str,
    argument: int,
    values: tuple[int, ...],
    *,
    mask: int = 0xFFFF_FFFF,
    forbidden: bool = False,
    refusal: int = _REFUSE | errno.EPERM,
) -> bytes:
    """Refuse one system call unless an argument has one of the values (or if it has); others pass on."""
    number = NUMBERS[name][MACHINES.index(platform.machine())]
    if number is None:
        return b""
    ends = [_instruction(_RETURN, refusal), _instruction(_RETURN, _ALLOW)]
    # A value that matches jumps past the remaining tests and the first end, to the second.
    body = [
        _instruction(_LOAD, _ARGUMENTS + 8 * argument),
        _instruction(_AND, mask),
        *(_instruction(_EQUAL, value, true=len(values) - place) for place, value in enumerate(values)),
        *(reversed(ends) if forbidden else ends),
    ]
    return b"".join((_instruction(_LOAD, _NUMBER), _instruction(_EQUAL, number, false=len(body)), *body))


def _instruction(code: int, value: int, *, true: int = 0, false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, true, false, value)
