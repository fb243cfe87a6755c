"""What an attack is: cells, how they may end, and what must not have been reached.

Every attack runs after the prelude. What succeeds although it must not is appended to ``reached``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PRELUDE = '''
import ctypes, errno, fcntl, json, os, signal, socket, struct, sys, threading, time
reached = []
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def attempt(name, action):
    """Remember what succeeds."""
    try:
        result = action()
    except BaseException as error:
        return type(error).__name__
    reached.append([name, repr(result)[:80]])

def call(name, number, *arguments):
    """A raw system call; success is remembered."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if libc.syscall(ctypes.c_long(number), *wide) >= 0:
        reached.append([name, 'system call'])

def until_refused(step, most):
    """How often something can be done."""
    count = 0
    try:
        while count < most:
            step()
            count += 1
    except (OSError, RuntimeError, MemoryError):
        pass
    return count

def frame(body, tensors=b'', magic=b'AG', lengths=None):
    """A reply as the guest would write it."""
    body = json.dumps(body).encode() if isinstance(body, dict) else body
    sizes = lengths or (len(body), len(tensors))
    return struct.pack('<2sIQ', magic, *sizes) + body + tensors

def send(data, descriptor=4):
    """Write everything."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[:60000]):]

def request_id():
    """The id of the request that is being answered, from the frames above."""
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            if isinstance(value, dict) and 'op' in value:
                return value['id']
        frame = frame.f_back
'''

HONEST = """
def honest(values):
    return [2 * value + 1 for value in values]
"""


@dataclass(frozen=True)
class Attack:
    """One attack and what must hold while it runs.

    Attributes:
        cells: run in order, after the prelude and the honest function.
        ends: how the last cell may end: ``""`` (it returns), an exception's name, or an ending.
        ask: a function that is called afterwards, as a hidden check would.
        gives: how that call may end; ``""`` when it answers with a value.
        torch: whether torch must be there.
        machine: the only architecture it makes sense on, if there is but one.
        files: what lay beside the submission's notebook and was taken along.
    """

    name: str
    cells: tuple[str, ...]
    ends: tuple[str, ...] = ("",)
    ask: str = ""
    gives: tuple[str, ...] = ("",)
    torch: bool = False
    machine: str = ""
    files: Mapping[str, bytes] | None = None


def one(name: str, source: str, *ends: str, torch: bool = False) -> Attack:
    """An attack of one cell."""
    return Attack(name, (source,), ends or ("",), torch=torch)


def called(name: str, source: str, *gives: str) -> Attack:
    """An attack that waits until its function ``attack`` is called by a check."""
    return Attack(name, (source,), ask="attack", gives=gives or ("",))
