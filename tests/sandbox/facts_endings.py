"""Facts about boxes that student code ends: the reported ending and earlier answers."""

from __future__ import annotations

import msgspec
import numpy as np

from autograder.core.records import Call, Ending, Limits
from tests.sandbox.contract import LIMITS, Ask, Fact, Raises, RunCell

STUBBORN = """
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
"""


def cell(says: str, source: str, ending: Ending, *, seconds: float = 5.0, limits: Limits = LIMITS) -> Fact:
    """Return a fact about a cell that ends its box; every later request reports the same ending."""
    again = RunCell("1", ending=ending)
    after = Ask((Call("f"), Call("f")), (ending,))
    return Fact(
        f"a cell: {says}", (RunCell(source, ending=ending, seconds=seconds), again, after), limits=limits
    )


def call(says: str, source: str, ending: Ending, *, seconds: float = 5.0, limits: Limits = LIMITS) -> Fact:
    """Return a fact about the second of three calls ending its box; the first answer is kept."""
    calls = (Call("honest"), Call("hostile"), Call("never"))
    return Fact(
        f"a call: {says}",
        (
            RunCell(f"def honest():\n    return 42\n{source}"),
            Ask(calls, (42, ending), seconds=seconds),
        ),
        limits=limits,
    )


_SMALL_CPU = msgspec.structs.replace(LIMITS, processor_seconds=1)

CELL_ENDINGS = (
    cell("os._exit", "import os\nos._exit(0)", Ending.EXITED),
    cell("a segmentation fault", "import ctypes\nctypes.string_at(0)", Ending.CRASHED),
    cell("abort", "import os\nos.abort()", Ending.CRASHED),
    cell("an endless loop", "while True: pass", Ending.CELL_TIME, seconds=0.5),
    cell(
        "an endless loop that ignores signals", STUBBORN + "while True: pass", Ending.CELL_TIME, seconds=0.5
    ),
    cell(
        "a process that stops itself",
        "import os\nos.kill(os.getpid(), 19)\nwhile True: pass",
        Ending.CELL_TIME,
        seconds=0.5,
    ),
    cell(
        "C code that never returns",
        "import ctypes\nctypes.PyDLL(None).sleep(100)",
        Ending.CELL_TIME,
        seconds=0.5,
    ),
    cell("more processor time than allowed", "while True: pass", Ending.PROCESSOR_TIME, limits=_SMALL_CPU),
    cell("a flood of prints", "while True: print('x' * 100_000)", Ending.OUTPUT),
    cell("a flood past the shell", "import os\nwhile True: os.write(1, bytes(65536))", Ending.OUTPUT),
    cell(
        "a flood from another process",
        "import os\nif not os.fork():\n    while True: os.write(2, bytes(65536))\nimport time\ntime.sleep(9)",
        Ending.OUTPUT,
    ),
)

CALL_ENDINGS = (
    call("os._exit", "def hostile():\n    import os\n    os._exit(0)", Ending.EXITED),
    call("a crash", "def hostile():\n    import os\n    os.abort()", Ending.CRASHED),
    call("an endless loop", "def hostile():\n    while True: pass", Ending.CALL_TIME, seconds=0.5),
    call(
        "a loop that ignores signals",
        STUBBORN + "def hostile():\n    while True: pass",
        Ending.CALL_TIME,
        seconds=0.5,
    ),
    call("a flood of prints", "def hostile():\n    while True: print('x' * 100_000)", Ending.OUTPUT),
    call("a text too long to send", "def hostile():\n    return 'x' * (20 << 20)", Ending.REPLY_SIZE),
    Fact(
        "an array too large to send is an error; what was answered before it stands, and the box goes on",
        (
            RunCell(
                "import numpy as np\ndef small(): return np.zeros(2)\ndef large(): return np.zeros(4 << 20)"
            ),
            Ask((Call("small"), Call("large")), (np.zeros(2), Raises("ReplyTooLarge"))),
            Ask((Call("small"),), (np.zeros(2),)),
        ),
    ),
)
