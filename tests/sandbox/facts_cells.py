"""Facts about cells: order, outputs, exceptions, shell lines, files."""

from __future__ import annotations

import sys

from autograder.core.records import Call
from tests.sandbox.contract import LIMITS, Ask, Fact, Raises, RunCell, Shown

NOTE = "Other programs are not run while a notebook is graded; this line was skipped.\n"


def printed(text: str, *, whole: bool = True) -> tuple[Shown, ...]:
    """Return one stream output."""
    return (Shown("stream", "text/plain", text, whole=whole),)


def result(text: str) -> tuple[Shown, ...]:
    """Return the value of the last expression."""
    return (Shown("result", "text/plain", text),)


LIBRARIES = """
import asyncio, concurrent.futures, multiprocessing, tempfile
async def double(x):
    await asyncio.sleep(0)
    return 2 * x
def threads():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda x: 2 * x, range(3)))
def temporary():
    with tempfile.NamedTemporaryFile('w+') as file:
        file.write('kept')
        file.seek(0)
        return file.read()
def workers():
    context = multiprocessing.get_context('fork')
    queue = context.Queue()
    started = [context.Process(target=lambda n=n: queue.put(2 * n)) for n in range(3)]
    for process in started: process.start()
    results = sorted(queue.get(timeout=60) for _ in started)
    for process in started: process.join(60)
    return results
"""
TRAINING = """
import torch
model = torch.nn.Linear(1, 1)
x = torch.arange(4.0).reshape(4, 1)
loss = lambda: torch.nn.functional.mse_loss(model(x), 3 * x)
optimizer = torch.optim.Adam(model.parameters(), 0.1)
before = loss().item()
for _ in range(5):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()
batches = [int(b) for b in torch.utils.data.DataLoader([0, 1, 2, 3], batch_size=None, num_workers=2)]
"""
HELD = """
import weakref
class Held: pass
seen = []
def fail():
    held = Held()
    held.itself = held
    seen.append(weakref.ref(held))
    raise MemoryError
fail()
"""

CELLS = (
    Fact(
        "cells run in order and share one namespace",
        (RunCell("x = 2"), RunCell("x *= 21"), RunCell("x", result("42"))),
    ),
    Fact(
        "an exception belongs to its cell, and the next cell runs",
        (
            RunCell(
                "y = 1\n1 / 0\ny = 2",
                (Shown("error", "text/plain", "ZeroDivisionError", whole=False),),
                error="ZeroDivisionError",
            ),
            RunCell("print(y)", printed("1\n")),
        ),
    ),
    Fact(
        "what was gathered when memory ended is free again, after a cell and after a call",
        (
            RunCell(HELD, (Shown("error", "text/plain", "MemoryError", whole=False),), error="MemoryError"),
            RunCell("seen.pop()() is None", result("True")),
            Ask((Call("fail"),), (Raises("MemoryError"),)),
            RunCell("seen.pop()() is None", result("True")),
        ),
    ),
    Fact(
        "what refers to itself is collected by itself",
        (RunCell("import gc\ngc.isenabled(), gc.get_threshold()[0] > 0", result("(True, True)")),),
    ),
    Fact(
        "a syntax error is an exception of its cell",
        (
            RunCell(
                "def f(:", (Shown("error", "text/plain", "SyntaxError", whole=False),), error="SyntaxError"
            ),
        ),
    ),
    Fact(
        "an exception class of the student is named as the student named it",
        (
            RunCell(
                "class MyError(Exception): pass\nraise MyError('seen')",
                (Shown("error", "text/plain", "MyError: seen", whole=False),),
                error="MyError",
            ),
        ),
    ),
    Fact(
        "sys.exit() leaves its cell and not the notebook",
        (
            RunCell(
                "import sys\nsys.exit(3)",
                (
                    Shown("error", "text/plain", "SystemExit: 3", whole=False),
                    *printed("To exit", whole=False),
                ),
                error="SystemExit",
            ),
            RunCell("print('on')", printed("on\n")),
        ),
    ),
    Fact(
        "what Jupyter adds for its front ends does nothing, and is no error",
        (RunCell("%autosave 60\nprint('on')", printed("on\n")),),
    ),
    Fact(
        "a traceback and a warning name libraries, and no folder of the machine",
        (
            RunCell(
                "import json\njson.loads('{')",
                (Shown("error", "text/plain", "File python3.", whole=False),),
                error="JSONDecodeError",
            ),
            RunCell(
                "import sys, json\nprint('in', json.__file__, file=sys.stderr)",
                printed(f"in python{sys.version_info.major}.{sys.version_info.minor}/json/__init__.py\n"),
            ),
        ),
    ),
    Fact(
        "what is printed is one stream output however it is printed",
        (
            RunCell(
                "print('a', end='')\nprint('b')\nimport sys\nsys.stdout.write('c')\nsys.stdout.flush();",
                printed("ab\nc"),
            ),
        ),
    ),
    Fact(
        "standard error is an output and no error",
        (RunCell("import sys, warnings\nprint('careful', file=sys.stderr)", printed("careful\n")),),
    ),
    Fact(
        "display, print and the last value keep their order",
        (
            RunCell(
                "from IPython.display import display, HTML\nprint('1')\ndisplay(HTML('<b>2</b>'))\n'3'",
                (
                    Shown("stream", "text/plain", "1\n"),
                    Shown("display", "text/html", "<b>2</b>"),
                    Shown("result", "text/plain", "'3'"),
                ),
            ),
        ),
    ),
    Fact(
        "a figure is a PNG in base64",
        (
            RunCell(
                "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
                (Shown("display", "image/png", "iVBORw0KGgo", whole=False),),
                seconds=60,
            ),
        ),
    ),
    Fact(
        "shell lines are skipped with a note and do not stop the cell",
        (
            RunCell("!pip install torch\nprint('on')", (*printed(NOTE), *printed("on\n"))),
            RunCell("%pip install torch", printed(NOTE)),
            RunCell("%%bash\nrm -rf /", printed(NOTE)),
            RunCell("found = !ls\nfound", (*printed(NOTE), *result("[]"))),
        ),
    ),
    Fact(
        "line magics work",
        (RunCell("%time z = 5", printed("Wall time", whole=False)), RunCell("z", result("5"))),
    ),
    Fact(
        "output over the cap is dropped, marked, and the cell goes on",
        (
            RunCell("print('x' * 70_000)\nw = 1", printed("x" * (LIMITS.output_kb << 10)), truncated=True),
            RunCell("assert w == 1"),
        ),
    ),
    Fact(
        "files handed along can be read and changed",
        (
            RunCell("print(open('table.csv').read())", printed("1,2\n")),
            RunCell(
                "open('table.csv', 'a').write('3,4')\nprint(open('table.csv').read())", printed("1,23,4\n")
            ),
            RunCell("len(open('empty.bin', 'rb').read())", result("0")),
        ),
        files={"table.csv": b"1,2", "empty.bin": b""},
    ),
    Fact(
        "what honest notebooks use works: asyncio, pools of threads, temporary files, forked workers",
        (
            RunCell(LIBRARIES),
            RunCell("asyncio.run(double(1))", result("2")),
            RunCell("await double(2)", result("4")),
            RunCell("threads()", result("[0, 2, 4]")),
            RunCell("temporary()", result("'kept'")),
            RunCell("workers()", result("[0, 2, 4]")),
        ),
    ),
    Fact(
        "torch trains and loads its data with workers",
        (
            RunCell(TRAINING, seconds=60),
            RunCell("sorted(batches), loss().item() < before", result("([0, 1, 2, 3], True)")),
        ),
        torch=True,
    ),
    Fact(
        "the same seed draws the same numbers in every box",
        (RunCell("import random\nrandom.random()", result("0.32383276483316237")),),
    ),
    Fact(
        "text of any kind arrives: emoji, NUL, lone surrogates replaced",
        (
            RunCell("print('\\N{SNAKE} \\0 \\ud800')", printed("\N{SNAKE} \0 \ufffd\n")),
            RunCell("lone = chr(0xD800)"),
            Ask((Call("lone", read=True),), ("\ufffd",)),
        ),
    ),
)
