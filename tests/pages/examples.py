"""A small rubric, its release, and example results of a good, a middling and a hostile student."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from decimal import Decimal

from autograder import rubric as rubrics
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    Ending,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Markdown,
    Message,
    Note,
    Score,
    Status,
)

FAULTS = (
    ("self_mask", "Self-attention sees only earlier tokens", "Maske der Selbstaufmerksamkeit"),
    ("residual", "A residual connection goes around the self-attention", "Residualverbindung"),
    ("cross_mask", "Cross-attention uses the mask of the memory", "Maske der Queraufmerksamkeit"),
    ("position_table", "The position table is as long as the longest text", "Größe der Positionstabelle"),
    ("shape_order", "Batch and length are taken in the right order", "Reihenfolge von Batch und Länge"),
    ("embedding_dropout", "Dropout acts on the summed embeddings", "Dropout auf den Einbettungen"),
    ("cross_value", "Cross-attention takes its values from the memory", "Werte der Queraufmerksamkeit"),
    ("output_head", "The output is projected onto the vocabulary", "Projektion auf das Vokabular"),
)
_ITEMS = "".join(
    f'\n[[question.item]]\nid = "{name}"\npoints = 1\ntext = {{ en = "{english}", de = "{german}" }}\n'
    for name, english, german in FAULTS
)
TOML = f"""
version = 3
[assignment]
name = "exam"
points = 17
title = {{ en = "Deep learning for language", de = "Deep Learning für Sprache" }}
languages = ["en", "de"]
[assignment.symbols]
d_model = {{ aliases = ["d"] }}
n_layers = {{}}

[[question]]
id = "task3-b"
kind = "formula"
points = 2
answer = "mlp_parameters"
title = {{ en = "Parameters of the MLP", de = "Parameter des MLP" }}
[[question.item]]
id = "formula"
points = 1
text = {{ en = "The number of parameters of the MLP", de = "Die Parameterzahl des MLP" }}
[[question.item]]
id = "why"
points = 1
manual = true
cell = "task3-b-why"
text = {{ en = "Your reason, in a sentence", de = "Ihre Begründung in einem Satz" }}

[[question]]
id = "task3-f"
kind = "formula"
points = 1
answer = "all_layers"
title = {{ en = "All layers", de = "Alle Schichten" }}
[[question.item]]
id = "formula"
points = 1
text = {{ en = "The parameters of all layers", de = "Die Parameter aller Schichten" }}

[[question]]
id = "task5-a"
kind = "number"
points = 8
answer = "Decoder"
title = {{ en = "Repair the decoder", de = "Den Decoder reparieren" }}
{_ITEMS}
[[question]]
id = "mha"
kind = "number"
points = 6
answer = "MultiHeadAttention"
title = {{ en = "Multi-head attention", de = "Multi-Head-Attention" }}
[[question.item]]
id = "plain"
points = 3
text = {{ en = "Attention without a mask", de = "Attention ohne Maske" }}
[[question.item]]
id = "masked"
points = 3
text = {{ en = "Blocked positions have no effect", de = "Gesperrte Positionen wirken nicht" }}
"""
RUBRIC = rubrics.parse_rubric(TOML.encode(), "examples")
PLACES = ("task3-b", "task3-f", "task5-a", "mha")


def _released(kind: str, grade_id: str, source: str, **marks: object) -> dict[str, object]:
    nbgrader = {"schema_version": 3, "grade_id": grade_id, "grade": False, "solution": False, "locked": False}
    cell: dict[str, object] = {
        "cell_type": kind,
        "id": grade_id,
        "metadata": {
            "nbgrader": {**nbgrader, "task": False, "cell_type": kind, "checksum": "0" * 32, **marks}
        },
        "source": source,
    }
    return cell if kind == "markdown" else {**cell, "execution_count": None, "outputs": []}


def release() -> bytes:
    """Return the released notebook of the rubric."""
    cells = [_released("markdown", "intro", "# Exam\n\nAnswer every question.", locked=True)]
    for question in RUBRIC.questions:
        cells.append(_released("code", question.answer_cell, "# YOUR CODE HERE", solution=True))
        points = question.list_cells()[question.id]
        check = f'check("{question.id}")'
        cells.append(_released("code", question.id, check, grade=True, locked=True, points=float(points)))
        if question.id == "task3-b":
            stub = "YOUR ANSWER HERE"
            cells.append(_released("markdown", "task3-b-why", stub, grade=True, solution=True, points=1.0))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook).encode()


def png(width: int = 64, height: int = 24) -> str:
    """Return a small picture as base64."""
    row = b"\x00" + bytes(255 * x // width for x in range(width))
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(row * height)),
        (b"IEND", b""),
    )
    chunks = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode()


def said(english: str, german: str = "", **params: str) -> Message:
    """Return a message with the given text."""
    return Message("example", params, {"en": english, "de": german or english})


def item(
    question: str, name: str, status: Status, message: Message, *, points: str = "", reading: str = ""
) -> ItemResult:
    """Return the result of an item; by default full points if it passed, else none."""
    possible = RUBRIC.get_question(question).get_item(name).points
    earned = Decimal(points) if points else possible if status is Status.PASSED else Decimal(0)
    staff = f"staff only: {question}.{name}"
    return ItemResult(question, name, status, earned, possible, message, staff, reading=reading)


def graded(
    student: str, items: tuple[ItemResult, ...], executed: ExecutedNotebook, **score: object
) -> GradingResult:
    """Return a result of the exam with these items."""
    notes = (Note("remark", "staff only: a remark", "mha"),)
    return GradingResult(
        Score(student, "exam", 3, items, **{"notes": notes, **score}),  # type: ignore[arg-type]
        (executed,),
        digest=student.encode(errors="surrogatepass").hex().ljust(64, "0")[:64],
        seconds=0.2,
    )


RIGHT = Message("passed")
LOOKED_AT = said("A person reads your reason.", "Ihre Begründung liest ein Mensch.")
BLANK = said("You left this one open.", "Hier steht keine Antwort.")

_INTRO = Markdown("# Exam\n\nAnswer every question.", "intro")
_GOOD_CODE = "class MultiHeadAttention(nn.Module):\n    ...  # forty lines that work"


def good() -> GradingResult:
    """Return a result in which everything is right and one item needs manual review."""
    items = (
        item("task3-b", "formula", Status.PASSED, RIGHT, reading="8*d_model^2"),
        item("task3-b", "why", Status.NEEDS_REVIEW, LOOKED_AT),
        item("task3-f", "formula", Status.PASSED, RIGHT, reading="12*n_layers*d_model^2"),
        *(item("task5-a", fault, Status.PASSED, RIGHT) for fault, _, _ in FAULTS),
        item("mha", "plain", Status.PASSED, RIGHT),
        item("mha", "masked", Status.PASSED, RIGHT),
    )
    cells = (
        _INTRO,
        Cell('mlp_parameters = "8*d_model^2"', "task3-b-answer"),
        Cell('check("task3-b")', "task3-b", locked=True),
        Markdown("Two matrices, each of $4 d_{model}^2$ numbers.", "task3-b-why"),
        Cell(_GOOD_CODE, "mha-answer"),
    )
    runs = (None, CellRun(), CellRun((stream("task3-b: readable\n"),)), None, CellRun(seconds=0.01))
    return graded("ada", items, ExecutedNotebook("exam", cells, runs))


def middling() -> GradingResult:
    """Return a result with right items, a named mistake, faults left, an error and a stopped cell."""
    left = {"cross_mask", "position_table", "cross_value"}
    seen = said(
        "Moving a memory position that is blocked still changed the output.",
        "Eine gesperrte Position des Gedächtnisses änderte die Ausgabe.",
    )
    mistake = said("That is one of the two matrices.", "Das ist eine der beiden Matrizen.")
    crash = said(
        "Case “masked”: your code raised {error}: {message}", error="TypeError", message="mask is None"
    )
    items = (
        item("task3-b", "formula", Status.FAILED, mistake, points="0.5", reading="4*d_model^2"),
        item("task3-b", "why", Status.NEEDS_REVIEW, LOOKED_AT),
        item("task3-f", "formula", Status.NO_ANSWER, BLANK),
        *(
            item("task5-a", fault, *((Status.FAILED, seen) if fault in left else (Status.PASSED, RIGHT)))
            for fault, _, _ in FAULTS
        ),
        item("mha", "plain", Status.PASSED, RIGHT),
        item("mha", "masked", Status.FAILED, crash),
    )
    table = "<table><tr><th></th><th>loss</th></tr><tr><th>1</th><td>3.2</td></tr></table>"
    trace = (
        "\x1b[31mTypeError\x1b[0m  Traceback (most recent call last)\n\x1b[31mTypeError\x1b[0m: mask is None"
    )
    cells = (
        _INTRO,
        Cell('mlp_parameters = "4*d_model^2"', "task3-b-answer"),
        Markdown("Because it has one hidden layer.", "task3-b-why"),
        Cell("frame\nplot()", ""),
        Cell("attention(x, mask=None)", "mha-answer"),
        Cell("while True:\n    pass", ""),
    )
    runs = (
        None,
        CellRun(),
        None,
        CellRun(
            (
                stream("epoch 1: 100%\n"),
                CellOutput("result", {"text/html": table, "text/plain": "   loss\n1   3.2"}),
                CellOutput("display", {"image/png": png(), "text/plain": "<Figure>"}),
            ),
            truncated=True,
        ),
        CellRun((CellOutput("error", {"text/plain": trace}),), error="TypeError"),
        CellRun(ending=Ending.CELL_TIME, seconds=30.0),
    )
    return graded("grace", items, ExecutedNotebook("exam", cells, runs))


HOSTILE = (
    "W" * 30_000,
    "<table><tr><td colspan=99999 style='position:fixed' onclick=alert(1)>table <a href=http://evil.example>x</a>",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1) srcset='http://evil.example/a 2x'>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
    '<a href="javascript:alert(1)">x</a>',
    '<meta http-equiv="refresh" content="0;url=http://evil.example">',
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<style>*{background:url(http://evil.example)}</style>",
    "{{ 7*7 }}{% raw %}{{ config }}",
    "]]><!-- --></pre></details></main></body>",
    '" onmouseover="alert(1)" x="',
    "\u202egnp.exe\u2066 \x00\x07\x1b]0;title\x07 \ud800 \ufdd0",
    "Z" + "\u0335\u0489" * 200,
)


def hostile() -> GradingResult:
    """Return a result without points in which every text controlled by the student is an attack."""
    attack = " ".join(HOSTILE[1:])
    messages = [said("Your code said: {text}", text=attack), Message("no-such-code", {"name": attack})]
    items = tuple(
        item(
            question.id, line.id, Status.FAILED, messages[number % 2], reading=HOSTILE[number % len(HOSTILE)]
        )
        for question in RUBRIC.questions
        for number, line in enumerate(question.items)
    )
    outputs = tuple(
        CellOutput(kind, data)
        for text in HOSTILE
        for kind, data in (
            ("stream", {"text/plain": text}),
            ("result", {"text/html": text, "text/plain": text}),
            ("display", {"image/svg+xml": text}),
            ("display", {"text/latex": text}),
            ("display", {"text/markdown": text}),
            ("display", {"image/png": text}),
            ("display", {"image/jpeg": png()}),
            ("display", {text[:50]: text}),
            ("error", {"text/plain": text}),
        )
    )
    cells = (
        _INTRO,
        Cell(attack, "task3-b-answer"),
        Markdown(attack, "task3-b-why"),
        Cell(attack, ""),
        Cell("os._exit(0)", "mha-answer"),
    )
    runs = (None, CellRun(outputs, error=attack), None, CellRun(), CellRun(ending=Ending.EXITED))
    executed = ExecutedNotebook("exam", cells, runs)
    return graded("</title><script>alert(1)</script>", items, executed, isolation="none")


def stream(text: str) -> CellOutput:
    """Return printed output."""
    return CellOutput("stream", {"text/plain": text})
