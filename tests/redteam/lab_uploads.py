"""Attacks by submitted files: special files, hostile contents, and shadowed names."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tests.redteam.lab import Lab, npy

HandIn = Callable[[Path, Lab], object]
"""A function of the folder with the wrong paper, and the lab."""
RESULT, CHECKPOINT, MODULE = "predictions.npy", "model.safetensors", "lm.py"
MOST = 100_000
"""About as much as is read of a result."""


class Pickled:
    """An object that runs code if it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Return code that would report that it ran in the grader's process."""
        return (exec, ("raise SystemExit('unpickled')",))


def _in_place(path: str, make: Callable[[Path, Lab], object]) -> HandIn:
    def made(folder: Path, lab: Lab) -> None:
        (folder / path).unlink(missing_ok=True)
        make(folder / path, lab)

    return made


def _holding(path: str, data: bytes) -> HandIn:
    return lambda folder, _: (folder / path).write_bytes(data)


def _header(text: str) -> bytes:
    """Return an array's file with this text as its header."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def _described(description: object, body: bytes = bytes(96), length: int | None = None) -> bytes:
    """Return a checkpoint with this header."""
    text = description if isinstance(description, bytes) else json.dumps(description).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + body


def _tensor(shape: list[int], start: int, end: int, dtype: str = "F64") -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def _key(lab: Lab, name: str) -> Path:
    return lab.assignment.course.sources / lab.assignment.name / name


def _shadows(folder: Path, _lab: Lab) -> None:
    for name in ("numpy.py", "coursecheck.py", "lab.py", "sitecustomize.py", "reference.py"):
        (folder / name).write_text("raise SystemExit(0)")


def _other_data(folder: Path, _lab: Lab) -> None:
    """Replace the data, so that the submitted numbers would be right if it were used."""
    for name in ("features.npy", RESULT):
        (folder / name).write_bytes(npy(np.zeros(19)))


PATCHES = b"""
import numpy, sys
numpy.load = lambda *_, **__: numpy.zeros(19)
numpy.allclose = numpy.array_equal = lambda *_, **__: True
sys.modules['lab'] = sys.modules['reference'] = sys.modules[__name__]
def step(state): return state
"""
OVERWRITES = b"""
import os
for path in ('features.npy', '../features.npy', 'coursecheck.py'):
    for do in (lambda: open(path, 'r+b').write(b'x'), lambda: os.chmod(path, 0o666)):
        try: do()
        except OSError: pass
def step(state): return state
"""
FROM_THE_NOTEBOOK = b"""
def step(state):
    import __main__
    return getattr(__main__, 'expected', state)
"""

HANDED_FILES: Mapping[str, HandIn] = {
    "a link to the key's result": _in_place(RESULT, lambda path, lab: path.symlink_to(_key(lab, RESULT))),
    "a hard link to the key's result": _in_place(
        RESULT, lambda path, lab: path.hardlink_to(_key(lab, RESULT))
    ),
    "a link to the key's module": _in_place(MODULE, lambda path, lab: path.symlink_to(_key(lab, MODULE))),
    "a link to the key's checkpoint": _in_place(
        CHECKPOINT, lambda path, lab: path.symlink_to(_key(lab, CHECKPOINT))
    ),
    "a named pipe": _in_place(RESULT, lambda path, _: os.mkfifo(path)),
    "a device without end": _in_place(RESULT, lambda path, _: path.symlink_to("/dev/zero")),
    "a folder": _in_place(MODULE, lambda path, _: path.mkdir()),
    "a sparse file of a terabyte": _in_place(
        CHECKPOINT, lambda path, _: (path.touch(), os.truncate(path, 1 << 40))
    ),
    "a pickle in an array": _holding(RESULT, npy(np.array([Pickled()], object))),
    "an array of a million million numbers": _holding(
        RESULT, _header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n")
    ),
    "a description that is an expression": _holding(
        RESULT, _header("{'descr': __import__('os')._exit(0), 'fortran_order': False, 'shape': (1,), }\n")
    ),
    "a description nested without end": _holding(RESULT, _header("(" * 9_000 + ")" * 9_000 + "\n")),
    "an array without its numbers": _holding(RESULT, npy(np.zeros(19))[:130]),
    "a checkpoint that is a pickle": _holding(CHECKPOINT, npy(np.array([Pickled()], object))[128:]),
    "a checkpoint with a description of a terabyte": _holding(CHECKPOINT, _described({}, length=1 << 40)),
    "a checkpoint nested without end": _holding(CHECKPOINT, _described(b"[" * 40_000 + b"]" * 40_000)),
    "a tensor of a million million numbers": _holding(
        CHECKPOINT, _described({"matrix": _tensor([1 << 20, 1 << 20], 0, 96)})
    ),
    "a tensor of negative sizes": _holding(CHECKPOINT, _described({"matrix": _tensor([-3, -4], 0, 96)})),
    "a tensor beyond the end": _holding(CHECKPOINT, _described({"matrix": _tensor([3, 4], -96, 0)})),
    "a tensor of an unknown type": _holding(CHECKPOINT, _described({"matrix": _tensor([3, 4], 0, 96, "O")})),
    "a tensor of numbers that are none": _holding(
        CHECKPOINT, _described({"matrix": _tensor([3, 4], 0, 96)}, np.full(12, np.nan).tobytes())
    ),
    "a tensor of the largest numbers": _holding(
        CHECKPOINT, _described({"matrix": _tensor([3, 4], 0, 96)}, np.full(12, 1.7e308).tobytes())
    ),
    "a tensor of complex numbers": _holding(
        CHECKPOINT, _described({"matrix": _tensor([3, 4], 0, 192, "C64")}, bytes(192))
    ),
    "a tensor of truths": _holding(
        CHECKPOINT, _described({"matrix": _tensor([3, 4], 0, 12, "BOOL")}, bytes(12))
    ),
    "tensors that nobody asked for": _holding(
        CHECKPOINT, _described({"matrix": _tensor([3, 4], 0, 96), "../lab.py": _tensor([3, 4], 0, 96)})
    ),
    "files that shadow modules": _shadows,
    "data of one's own": _other_data,
    "a module that patches what reads files": _holding(MODULE, PATCHES),
    "a module that writes over the data": _holding(MODULE, OVERWRITES),
    "a module that seeks what is expected": _holding(MODULE, FROM_THE_NOTEBOOK),
    "a module that ends its box": _holding(MODULE, b"import os\nos._exit(0)\n"),
    "a module that is no text": _holding(MODULE, b"\xff\xfe\0d\0e\0f\0"),
    "a module nested without end": _holding(MODULE, b"step = " + b"(" * 200_000 + b")" * 200_000),
    "a module of nothing but lines": _holding(MODULE, b"\n" * 900_000 + b"def step(state): return state\n"),
}
"""By title."""
