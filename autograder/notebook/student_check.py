"""Writes the light check that students run beside their notebook: form only, never right or wrong."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from autograder.errors import CourseError
from autograder.messages import languages, sentences, template
from autograder.notebook import closed
from autograder.notebook.release import Release
from autograder.rubric import NotebookFile, Question, Rubric
from autograder.syntax import bound_names, parsed
from autograder.timestamps import Window
from autograder.wording import decimal_comma

FILE_NAME = "coursecheck.py"
"""What the file is called beside the released notebook; check cells import it by this name."""
SILENT = Path(__file__).with_name("silentcheck.py")
SILENT_OTTER = Path(__file__).with_name("silentotter.py")
"""What lies in its place while a notebook is graded."""
_TEMPLATE = Path(__file__).with_name("coursecheck.py")
_PROGRAM = Path(__file__).parents[1]
_STAND_INS = ("autograder.messages.catalogue", "autograder.records", "autograder.wording")
"""Modules of the program that the template has its own short versions of."""
_TAKEN_ALONG = (
    "autograder.student.rendering",
    "autograder.student.surroundings",
    "autograder.notebook.timeleft",
)
"""The modules that travel to students, with all that these import."""
_SAID = ("student.", "time-left.", "unreadable.", "number.")
"""How the codes begin of the sentences that these modules say."""

_SPECIFICATION = "SPECIFICATION = "
"""How the line begins that differs from one assignment to the next."""
_Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class _Symbol(Struct, frozen=True):
    aliases: tuple[str, ...]
    domain: str


class _Entry(Struct, frozen=True):
    """What students' own check knows of a question."""

    kind: str
    """How the answer looks: the form of the question's kind (`autograder.checks.kind.Form`)."""
    title: dict[str, str]
    answer: str
    notebook: str
    cell: str
    names: dict[str, str]
    symbols: dict[str, _Symbol]
    library: str
    visible: tuple[dict[str, Any], ...]
    languages: tuple[str, ...] = ("en",)
    """Of the course: they decide what a mark between digits means."""
    given: str = ""
    """The answer's cell of code as it is handed out; empty in files of earlier versions."""
    file: str = ""
    """The path of the file that is the answer, in the place of a cell or, of a result, beside one."""
    closed: tuple[str, ...] = ()
    """Marks of all options, where the notebook names them; see `autograder.notebook.closed.mark`."""


class _File(Struct, frozen=True):
    """A file that is handed in beside a notebook."""

    path: str
    most: int
    """Bytes that are read."""
    optional: bool = False
    starter: str = ""
    """Digest of what was given out to be edited."""


class _Cells(Struct, frozen=True):
    given: tuple[str, ...]
    answers: tuple[str, ...]


class _Times(Struct, frozen=True, omit_defaults=True):
    end: _Moment
    zone: str
    start: _Moment | None = None
    late: dict[str, str] = {}
    own: bool = False


class _Specification(Struct, frozen=True):
    assignment: str
    language: str
    texts: str
    cells: dict[str, _Cells]
    questions: dict[str, _Entry]
    files: dict[str, tuple[_File, ...]] = {}
    """By notebook; none in files of earlier versions."""
    times: _Times | None = None


def build_student_check(
    rubric: Rubric,
    notebook: str = "",
    language: str = "",
    releases: Iterable[Release] = (),
    window: Window | None = None,
    *,
    forms: Mapping[str, str] | None = None,
    starters: Mapping[str, str] | None = None,
) -> bytes:
    """The source of ``coursecheck.py``, for one notebook or for all that lie in the assignment's folder.

    It needs nothing but Python's standard library and holds no expected value: only each question's kind and
    title, the names students assign, the symbols their formulas may use, and the checks that the rubric
    declares visible. It speaks the given language, or the assignment's first.

    Args:
        rubric: of the assignment.
        notebook: only questions of this one; empty: all.
        language: that the release was made in; empty: all of them.
        releases: the notebooks as they are handed out, so that missing cells can be named.
        window: when an exam is sat, where that is known; then the time left is told.
        starters: digests of the files that are given out to be edited, by path.
        forms: how answers to each kind look; a kind that is not there has a form of its own name.

    Raises:
        CourseError: the package's own template is damaged.
    """
    known = {release.name: release for release in releases}
    specification = {
        "assignment": rubric.assignment.name,
        "language": language or next(iter(rubric.assignment.languages), "en"),
        "texts": language,
        "cells": {
            name: {
                "given": [one.grade_id for one in release.by_id.values() if one.is_locked],
                "answers": [one.grade_id for one in release.by_id.values() if one.is_answer],
            }
            for name, release in known.items()
        },
        "questions": {
            question.id: _specification(question, rubric, known.get(question.notebook), forms or {})
            for question in rubric.questions
            if notebook in ("", question.notebook)
        },
    }
    files = {
        one.name: _files(one, starters or {})
        for one in rubric.assignment.notebooks
        if one.own and notebook in ("", one.name)
    }
    if files:
        specification["files"] = files
    if window:
        specification["times"] = _times(window)
    return _filled(specification)


def _filled(specification: dict[str, Any]) -> bytes:
    """The template with its three lines of data.

    Raises:
        CourseError: a line is missing there.
    """
    source = _TEMPLATE.read_text(encoding="utf-8")
    lines = {
        "SPECIFICATION": _literal(specification),
        "SENTENCES": _literal(travelling_sentences()),
        "SOURCES": _sources(),
    }
    for name, literal in lines.items():
        place = f'\n{name} = "{{}}"\n'
        if source.count(place) != 1:
            raise CourseError(
                f"{_TEMPLATE.name}: the line {place.strip()!r} is missing; install the package again"
            )
        source = source.replace(place, f"\n{name} = {literal}\n")
    return source.encode()


def in_window(source: str, window: Window) -> str:
    """A ``coursecheck.py`` that tells the time of another window: that of one student.

    Raises:
        CourseError: what is there is no ``coursecheck.py``.
    """
    specification = specification_of(source)
    if specification is None:
        raise CourseError(f"{FILE_NAME}: its line SPECIFICATION is not readable; generate the release again")
    changed = _literal({**specification, "times": _times(window)})
    lines = [
        f"{_SPECIFICATION}{changed}" if line.startswith(_SPECIFICATION) else line
        for line in source.split("\n")
    ]
    return "\n".join(lines)


def _files(notebook: NotebookFile, starters: Mapping[str, str]) -> list[dict[str, Any]]:
    """What students hand in beside a notebook."""
    optional = {*notebook.take_along, *(one.path for one in notebook.results if one.optional)}
    return [
        {"path": path, "most": most, "optional": path in optional, "starter": starters.get(path, "")}
        for path, most in notebook.own.items()
    ]


def _times(window: Window) -> dict[str, Any]:
    start = {"start": window.start.isoformat()} if window.start else {}
    times = {**start, "end": window.end.isoformat(), "zone": window.zone}
    late = {language: " ".join(window.terms.texts(language)) for language in languages()}
    told = {"late": late} if any(late.values()) else {}
    return {**times, **told, **({"own": True} if window.own else {})}


def specification_of(source: str) -> dict[str, Any] | None:
    """What a ``coursecheck.py`` says of its assignment, read as data; None where it says nothing readable."""
    try:
        literal = next(line for line in source.split("\n") if line.startswith(_SPECIFICATION))
        specification = json.loads(json.loads(literal.partition(" = ")[2]))
    except (ValueError, StopIteration, TypeError, RecursionError):
        return None
    return specification if isinstance(specification, dict) else None


def read_specification(source: str, place: str) -> dict[str, Any]:
    """What a ``coursecheck.py`` says of its assignment, checked: students can write into it.

    Raises:
        CourseError: it says nothing readable; names the place.
    """
    try:
        read = msgspec.convert(specification_of(source), _Specification, strict=True)
    except msgspec.ValidationError as error:
        raise CourseError(
            f"{place}: is not the coursecheck.py of an assignment, or one of another version ({error}); "
            "take a fresh copy of the folder that you got"
        ) from error
    made: dict[str, Any] = msgspec.to_builtins(read)
    return made


def released_language(path: Path) -> str | None:
    """Return the language of the release that contains this check.

    Args:
        path: of the ``coursecheck.py``.

    Returns:
        Empty for all languages; None if there is no readable release.
    """
    try:
        specification = specification_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str((specification or {}).get("texts", ""))


def sources() -> dict[str, str]:
    """The modules that travel with the check, by name: as they lie here, whatever the assignment is."""
    found: dict[str, str] = {}
    waiting = [*_TAKEN_ALONG]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = _PROGRAM.joinpath(*name.split(".")[1:]).with_suffix(".py")
        found[name] = path.read_text(encoding="utf-8")
        tree = ast.parse(found[name])
        imported = {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
        }
        waiting += [one for one in imported if one.startswith("autograder.") and one not in _STAND_INS]
    return dict(sorted(found.items()))


def travelling_sentences() -> dict[str, Any]:
    """The sentences that travel with the check, in every language; whatever the assignment is, the same."""
    known = languages()
    return {
        "sentences": {
            code: {language: template(code, language) for language in known}
            for code in sorted(sentences())
            if code.startswith(_SAID)
        },
        "decimal-comma": [language for language in known if decimal_comma([language])],
    }


@functools.cache
def _sources() -> str:
    """Once for a class of personal notebooks: they are the same for all."""
    return _literal(sources())


def _literal(content: dict[str, Any]) -> str:
    """JSON in a JSON string, which is a Python string as well: data, not code."""
    return json.dumps(json.dumps(content, ensure_ascii=False), ensure_ascii=False)


def _specification(
    question: Question, rubric: Rubric, release: Release | None, forms: Mapping[str, str]
) -> dict[str, Any]:
    kind = "" if _is_value(question, rubric) else forms.get(question.kind, question.kind)
    names: dict[str, str] = {}
    beside = str(question.options.get("reads", ""))  # whatever name the answer has, it is this file
    for item in () if beside else question.items:
        name = item.options.get("answer") or question.answer
        if isinstance(name, str) and name and not item.manual:
            form = "entries" if "key" in item.options else str(item.options.get("form", ""))
            if kind == "number" and not form and _asks_whole({**question.options, **item.options}):
                form = "whole"
            # An answer that serves items of different forms may have any of them.
            names[name] = form if names.get(name, form) == form else "any"
    symbols = rubric.symbols(question) if kind in ("formula", "shape") else {}
    return {
        "kind": kind,
        "title": question.title,
        "answer": question.answer,
        "notebook": question.notebook,
        "cell": _cell_of(question, release),
        "names": names,
        "file": question.file or beside,
        "symbols": {
            name: {"aliases": list(symbol.aliases), "domain": symbol.domain}
            for name, symbol in symbols.items()
        },
        "languages": list(rubric.assignment.languages),
        "library": "torch" if "torch" in rubric.assignment.preload else "numpy",
        # What is drawn differs from sheet to sheet, and the file beside all of them is the same.
        "given": _given(question, release) if rubric.draws is None else "",
        "closed": _closed(question, release) if kind == "choice" and rubric.draws is None else [],
        "visible": [_plain(msgspec.to_builtins(one, builtin_types=(Decimal,))) for one in question.visible],
    }


def _asks_whole(options: Mapping[str, Any]) -> bool:
    """Whether a whole number without a unit is right, and nothing near it."""
    value, exact = options.get("value"), options.get("tolerance", "exact") == "exact"
    return exact and not options.get("unit") and type(value) is int


def _is_value(question: Question, rubric: Rubric) -> bool:
    """Whether checks in Python judge a value: their solution assigns the name instead of defining it."""
    file = rubric.checks.get(question.id)
    if file is None or not file.solution:
        return False
    statements = parsed(file.solution).body
    assigned = (statement for statement in statements if isinstance(statement, ast.Assign | ast.AnnAssign))
    return question.answer in bound_names(*assigned)


def _cell_of(question: Question, release: Release | None) -> str:
    """The name of the answer cell; empty where the answer is a file."""
    if question.file:
        return ""
    return release.answer_cell(question) if release else question.answer_cell


def _given(question: Question, release: Release | None) -> str:
    name = _cell_of(question, release)
    cell = release.by_id[name] if release and name else None
    return cell.source if cell and cell.cell_type == "code" else ""


def _closed(question: Question, release: Release | None) -> list[str]:
    """Marks of the options of a choice; none where students are not shown all of them."""
    if release is None:
        return []
    stated: list[tuple[str, ...]] = [(name,) for name in question.options.get("names", ())]
    stated += [(one["id"], *one.get("aliases", ())) for one in question.options.get("option", ())]
    if any(one.get("begins") for one in question.options.get("option", ())):
        return []
    words = _words("\n".join(cell.source for cell in release.cells))
    shown = all(any(f" {_words(name)} " in f" {words} " for name in names) for names in stated)
    if question.options.get("preset") == "yes-no":
        stated += [(name, *others) for name, others in closed.YES_NO.items()]
    return sorted({closed.mark(name) for names in stated for name in names}) if shown else []


def _words(text: str) -> str:
    """A text as words alone, so that it tells whether one stands in another."""
    return " ".join(re.findall(r"\w+", text.casefold().replace("_", " ")))


def _plain(value: Any) -> Any:
    """A table of the rubric with floats for its decimals."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return float(value) if isinstance(value, Decimal) else value
