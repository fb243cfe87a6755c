"""Writes the light check that students run beside their notebook: form only, never right or wrong."""

from __future__ import annotations

import contextlib
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograder.errors import CourseError
from autograder.rubric import Question, Rubric
from autograder.timestamps import Window

FILE_NAME = "coursecheck.py"
"""What the file is called beside the released notebook; check cells import it by this name."""
_TEMPLATE = Path(__file__).with_name("coursecheck.py")
_PLACE = 'SPECIFICATION = "{}"\n'
_TIME_LEFT = Path(__file__).with_name("timeleft.py")
_IMPORT = "from autograder.notebook.timeleft import time_left\n"
"""In the place of this line a release has the module itself: the program is not on students' machines."""


def build_student_check(
    rubric: Rubric, notebook: str = "", language: str = "", window: Window | None = None
) -> bytes:
    """The source of ``coursecheck.py``, for one notebook or for all that lie in the assignment's folder.

    It needs nothing but Python's standard library and holds no expected value: only each question's kind,
    the names students assign, and the symbols their formulas may use. It speaks the given language, or the
    assignment's first. Where it is known when an exam is sat (``window``), it also tells the time left.

    Raises:
        CourseError: the package's own template is damaged.
    """
    specification = {
        "language": language or next(iter(rubric.assignment.languages), "en"),
        "texts": language,
        "questions": {
            question.id: _specification(question, rubric)
            for question in rubric.questions
            if notebook in ("", question.notebook)
        },
    }
    if window:
        times = {"start": window.start.isoformat(), "end": window.end.isoformat(), "zone": window.zone}
        specification["times"] = times
    template = _TEMPLATE.read_text(encoding="utf-8")
    own = _TIME_LEFT.read_text(encoding="utf-8").partition("from __future__ import annotations\n")[2]
    template = template.replace(_IMPORT, own.strip("\n") + "\n")
    if template.count(_PLACE) != 1:
        raise CourseError(
            f"{_TEMPLATE.name}: the line {_PLACE.strip()!r} is missing; install the package again"
        )
    # A JSON string is a Python string literal, so this is JSON inside a literal: data, not code.
    literal = json.dumps(json.dumps(specification, sort_keys=True))
    return template.replace(_PLACE, f"SPECIFICATION = {literal}\n").encode()


def released_language(path: Path) -> str:
    """The language that the release beside this check was made in.

    Args:
        path: of the ``coursecheck.py``.

    Returns:
        Empty for all languages, and where there is no release that says.
    """
    try:
        text = path.read_text(encoding="utf-8")
        literal = next(line for line in text.splitlines() if line.startswith("SPECIFICATION = "))
        specification = json.loads(json.loads(literal.partition(" = ")[2]))
        return str(specification.get("texts", ""))
    except (OSError, ValueError, StopIteration, AttributeError, TypeError):
        return ""


def _specification(question: Question, rubric: Rubric) -> dict[str, Any]:
    names: dict[str, str] = {}
    for item in question.items:
        name = item.options.get("answer") or question.answer
        if isinstance(name, str) and name and not item.manual:
            form = "entries" if "key" in item.options else str(item.options.get("form", ""))
            # An answer that serves items of different forms may have any of them.
            names[name] = form if names.get(name, form) == form else "any"
    symbols = {
        name: [*symbol.aliases, *(other for one in (name, *symbol.aliases) for other in _other_alphabet(one))]
        for name, symbol in rubric.symbols(question).items()
    }
    return {
        "kind": question.kind,
        "names": names,
        "symbols": symbols if question.kind in ("symbolic", "shape") else {},
    }


def _other_alphabet(spelling: str) -> Iterator[str]:
    """``α_1`` for ``alpha_1``, and the reverse: the grader takes them for the same."""
    base, mark, below = spelling.partition("_")
    size = "SMALL" if base.islower() else "CAPITAL"
    unicode_name = {"LAMBDA": "LAMDA"}.get(base.upper(), base.upper())
    with contextlib.suppress(KeyError):
        yield unicodedata.lookup(f"GREEK {size} LETTER {unicode_name}") + mark + below
    found = re.fullmatch(
        "GREEK (SMALL|CAPITAL) LETTER ([A-Z]+)", unicodedata.name(base, "") if len(base) == 1 else ""
    )
    if found:
        name = {"LAMDA": "LAMBDA"}.get(found[2], found[2])
        yield (name.lower() if found[1] == "SMALL" else name.capitalize()) + mark + below
