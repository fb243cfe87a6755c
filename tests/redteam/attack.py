"""The definition of an attack: its cells, how they may end, and the record of what it reached.

Every attack runs after the prelude. It appends forbidden successes to ``reached``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent

PRELUDE = '''
import ctypes, errno, fcntl, json, os, signal, socket, struct, sys, threading, time
reached = []
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

def attempt(name, action, *refusals):
    """Remember what succeeds. Only what refuses is a refusal: any other exception says nothing of a wall."""
    try:
        result = action()
    except (OSError, ImportError, *refusals):
        return
    except BaseException as error:
        result = f'cannot tell: {type(error).__name__}: {error}'
    reached.append([str(name), repr(result)[:80]])

REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)

def call(name, number, *arguments, refused=REFUSED):
    """A raw system call. Success is remembered, and so is an error of a call that was let through."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *wide) >= 0:
        reached.append([name, 'system call'])
    elif ctypes.get_errno() not in refused:
        reached.append([name, 'the kernel looked at it: ' + errno.errorcode.get(ctypes.get_errno(), '?')])

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

def forge(observed, junk=''):
    """From now on every answer to a call is this text of JSON, beside fields that nobody reads."""
    def pack(message, arrays=None):
        rest = json.dumps({name: value for name, value in message.items() if name != 'observed'})
        return [frame(('{"observed":' + observed + ',' + junk + rest[1:]).encode())]
    sys.modules['autograder.sandbox.exchange.wire'].pack = pack

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
    """One attack and what must hold while it runs."""

    kind: str
    """Its class: the name of its file."""
    title: str
    cells: tuple[str, ...]
    """Run in order, after the prelude and the honest function."""
    ends: tuple[str, ...]
    """How the last cell may end: ``""`` (it returns), an exception's name, or an ending."""
    gives: tuple[str, ...]
    """How a call of its function ``attack`` may end; ``""`` if it answers; empty: it is not called."""
    answers: str
    """The question of the exam that its last cell answers; empty: all its cells are additional ones."""
    torch: bool
    machine: str
    """The only architecture for which it makes sense; empty: all."""
    files: Mapping[str, bytes]
    """Files submitted together with the notebook."""
    breaks: bool
    """Whether its own process may be unusable afterwards."""

    @property
    def name(self) -> str:
        """Return class and title."""
        return f"{self.kind}: {self.title}"


def load(path: Path) -> list[Attack]:
    """Load the attacks of one file.

    ``# %% title`` begins an attack and a bare ``# %%`` its next cell. Lines before the code are its
    properties: ``# ends:``, ``# gives:`` (its function ``attack`` is called), ``# answers:``, ``# needs:
    torch``, ``# machine:``, ``# beside:`` (files that end a process that imports them), ``# breaks: itself``.
    """
    blocks = re.split(r"^# %% (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [_attack(path.stem, title, body) for title, body in zip(blocks[::2], blocks[1::2], strict=True)]


def _attack(kind: str, title: str, body: str) -> Attack:
    said: dict[str, str] = {}
    lines = body.strip("\n").splitlines()
    known = r"# (ends|gives|answers|needs|machine|beside|breaks): (.+)"
    while lines and (match := re.fullmatch(known, lines[0])):
        said[match[1]] = match[2]
        lines = lines[1:]
    return Attack(
        kind=kind,
        title=title,
        cells=tuple(
            cell.strip("\n")
            for cell in re.split(r"^# %%$", "\n".join(lines), flags=re.MULTILINE)
            if cell.strip()
        ),
        ends=_outcomes(said.get("ends", "returns")),
        gives=_outcomes(said["gives"]) if "gives" in said else (),
        answers=said.get("answers", ""),
        torch=said.get("needs") == "torch",
        machine=said.get("machine", ""),
        files=dict.fromkeys(said.get("beside", "").split(), b"raise SystemExit"),
        breaks="breaks" in said,
    )


def _outcomes(text: str) -> tuple[str, ...]:
    return tuple("" if one in {"returns", "a value"} else one for one in text.split(", "))


def _catalogue() -> dict[str, Attack]:
    found = [attack for path in sorted((FOLDER / "attacks").glob("*.cells")) for attack in load(path)]
    return {attack.name: attack for attack in found}


ATTACKS: Mapping[str, Attack] = _catalogue()
"""By name."""
