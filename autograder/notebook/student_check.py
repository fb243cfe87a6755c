"""Write the check that students run with their notebook: it looks at form only, never at correctness."""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from autograder.core.errors import CourseError
from autograder.core.syntax import collect_bound_names, parse_module
from autograder.core.wording import has_decimal_comma
from autograder.messages import get_template, list_languages, load_sentences
from autograder.notebook.release import Release
from autograder.questions import closed_lists
from autograder.rubric import NotebookFile, Question, Rubric

FILE_NAME = "coursecheck.py"
"""Name of the file next to the released notebook; check cells import it by this name."""
SILENT = Path(__file__).with_name("silent_coursecheck.py")
SILENT_OTTER = Path(__file__).with_name("silent_otter.py")
"""Replacements that are used while a notebook is graded."""
_TEMPLATE = Path(__file__).with_name("coursecheck.py")
_PROGRAM = Path(__file__).parents[1]
_STAND_INS = ("autograder.messages.catalogue", "autograder.core.records", "autograder.core.wording")
"""Modules of the program of which the template has its own short versions."""
_TAKEN_ALONG = (
    "autograder.notebook.student.rendering",
    "autograder.notebook.student.submission",
    "autograder.notebook.student.surroundings",
)
"""Modules that are copied to students, with everything that they import."""
_SAID = ("student.", "unreadable.", "number.")
"""Prefixes of the codes of sentences that these modules use."""

_SPECIFICATION = "SPECIFICATION = "
"""Start of the line that differs from one assignment to the next."""
_KEYS = frozenset(("assignment", "language", "texts", "cells", "questions"))
_QUESTION_KEYS = frozenset(
    ("kind", "title", "answer", "notebook", "cell", "names", "file", "symbols", "library", "visible")
)
"""Keys that a specification must have, and each question in it."""


def build_student_check(
    rubric: Rubric,
    language: str = "",
    releases: Iterable[Release] = (),
    *,
    forms: Mapping[str, str] | None = None,
    starters: Mapping[str, str] | None = None,
) -> bytes:
    """Return the source of ``coursecheck.py`` for all notebooks in the assignment's folder.

    It needs only Python's standard library and contains no expected value: only each question's kind and
    title, the names students assign, the symbols their formulas may use, and the checks that the rubric
    declares visible. It uses the given language, or the assignment's first.

    Args:
        rubric: rubric of the assignment.
        language: language of the release; empty: all of them.
        releases: the notebooks as they are released, so that missing cells can be named.
        starters: digests of the released files that students edit, by path.
        forms: form of the answers to each kind; a missing kind has a form of the same name.

    Raises:
        CourseError: the package's own template is damaged.
    """
    release_by_name = {release.name: release for release in releases}
    specification = {
        "assignment": rubric.assignment.name,
        "language": language or next(iter(rubric.assignment.languages), "en"),
        "texts": language,
        "cells": {
            name: {
                "given": [entry.grade_id for entry in release.by_id.values() if entry.is_locked],
                "answers": [entry.grade_id for entry in release.by_id.values() if entry.is_answer],
            }
            for name, release in release_by_name.items()
        },
        "questions": {
            question.id: _describe_question(
                question, rubric, release_by_name.get(question.notebook), forms or {}
            )
            for question in rubric.questions
        },
    }
    files = {
        entry.name: _list_files(entry, starters or {}) for entry in rubric.assignment.notebooks if entry.own
    }
    if files:
        specification["files"] = files
    return _fill_template(specification)


def _fill_template(specification: dict[str, Any]) -> bytes:
    """Return the template with its three lines of data.

    Raises:
        CourseError: a line is missing in it.
    """
    source = _TEMPLATE.read_text(encoding="utf-8")
    lines = {
        "SPECIFICATION": _encode_literal(specification),
        "SENTENCES": _encode_literal(collect_sentences()),
        "SOURCES": _encode_sources(),
    }
    for name, literal in lines.items():
        place = f'\n{name} = "{{}}"\n'
        # Exactly once: replacing a second occurrence would corrupt the code.
        if source.count(place) != 1:
            raise CourseError(
                f"{_TEMPLATE.name}: the line {place.strip()!r} is missing; install the package again"
            )
        source = source.replace(place, f"\n{name} = {literal}\n")
    return source.encode()


def _list_files(notebook: NotebookFile, starters: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the specification of the files that students submit with a notebook."""
    optional = {*notebook.take_along, *(result.path for result in notebook.results if result.optional)}
    return [
        {"path": path, "most": most, "optional": path in optional, "starter": starters.get(path, "")}
        for path, most in notebook.own.items()
    ]


def extract_specification(source: str) -> dict[str, Any] | None:
    """Return the specification in a ``coursecheck.py``, read as data; None if it is not readable."""
    try:
        literal = next(line for line in source.split("\n") if line.startswith(_SPECIFICATION))
        # The literal is JSON inside a JSON string; it is never executed.
        specification = json.loads(json.loads(literal.partition(" = ")[2]))
    except (ValueError, StopIteration, TypeError, RecursionError):
        return None
    return specification if isinstance(specification, dict) else None


def read_specification(source: str, place: str) -> dict[str, Any]:
    """Return the specification in a ``coursecheck.py`` that students may have edited.

    Raises:
        CourseError: it is not readable; names the place.
    """
    read = extract_specification(source) or {}
    questions = read.get("questions")
    entries = questions.values() if isinstance(questions, dict) else [None]
    if not read.keys() >= _KEYS or not all(
        isinstance(entry, dict) and entry.keys() >= _QUESTION_KEYS for entry in entries
    ):
        raise CourseError(
            f"{place}: is not the coursecheck.py of an assignment, or one of another version; "
            "take a fresh copy of the folder that you got"
        )
    return {"files": {}, **read}


def read_language(path: Path) -> str | None:
    """Return the language of the release that a check belongs to.

    Args:
        path: path of the ``coursecheck.py``.

    Returns:
        Empty for all languages; None if there is no readable release.
    """
    try:
        specification = extract_specification(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str((specification or {}).get("texts", ""))


def collect_sources() -> dict[str, str]:
    """Return the modules that are copied into the check, by name; the same for every assignment."""
    source_by_name: dict[str, str] = {}
    waiting = [*_TAKEN_ALONG]
    while waiting:
        name = waiting.pop()
        if name in source_by_name:
            continue
        path = _PROGRAM.joinpath(*name.split(".")[1:]).with_suffix(".py")
        source_by_name[name] = path.read_text(encoding="utf-8")
        tree = ast.parse(source_by_name[name])
        imported = {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
        }
        # Follow imports transitively, except into modules that the template replaces.
        waiting += [
            module for module in imported if module.startswith("autograder.") and module not in _STAND_INS
        ]
    return dict(sorted(source_by_name.items()))


def collect_sentences() -> dict[str, Any]:
    """Return the sentences copied into the check, in every language; the same for every assignment."""
    known_languages = list_languages()
    return {
        "sentences": {
            code: {language: get_template(code, language) for language in known_languages}
            for code in sorted(load_sentences())
            if code.startswith(_SAID)
        },
        "decimal-comma": [language for language in known_languages if has_decimal_comma([language])],
    }


@functools.cache
def _encode_sources() -> str:
    """Return the encoded modules; cached, because all personal notebooks of a class share them."""
    return _encode_literal(collect_sources())


def _encode_literal(content: dict[str, Any]) -> str:
    """Encode data as JSON in a JSON string, which is also a Python string: data, not code."""
    return json.dumps(json.dumps(content, ensure_ascii=False), ensure_ascii=False)


def _describe_question(
    question: Question, rubric: Rubric, release: Release | None, forms: Mapping[str, str]
) -> dict[str, Any]:
    """Return the specification of one question, without any expected value."""
    kind = "" if _is_value(question, rubric) else forms.get(question.kind, question.kind)
    names: dict[str, str] = {}
    beside = str(question.options.get("reads", ""))  # whatever its name, the answer is this file
    for item in () if beside else question.items:
        name = item.options.get("answer") or question.answer
        if isinstance(name, str) and name and not item.manual:
            form = "entries" if "key" in item.options else str(item.options.get("form", ""))
            if kind == "number" and not form and _needs_whole({**question.options, **item.options}):
                form = "whole"
            # An answer that serves items of different forms may have any of them.
            names[name] = form if names.get(name, form) == form else "any"
    symbols = rubric.list_symbols(question) if kind in ("formula", "shape") else {}
    return {
        # Form of the answer: the form of the question's kind (`autograder.questions.base.kind.Form`).
        "kind": kind,
        "title": question.title,
        "answer": question.answer,
        "notebook": question.notebook,
        "cell": _find_cell(question, release),
        "names": names,
        # Path of the file that is the answer, in place of a cell or, for a result, in addition to one.
        "file": question.file or beside,
        "symbols": {
            name: {"aliases": list(symbol.aliases), "domain": symbol.domain}
            for name, symbol in symbols.items()
        },
        # They decide whether a mark between digits is a decimal sign.
        "languages": list(rubric.assignment.languages),
        "library": "torch" if "torch" in rubric.assignment.preload else "numpy",
        # Drawn values differ from sheet to sheet, but all sheets share this file.
        "given": _read_given(question, release) if rubric.draws is None else "",
        "closed": _hash_options(question, release) if kind == "choice" and rubric.draws is None else [],
        "visible": [
            _to_plain(msgspec.to_builtins(visible_check, builtin_types=(Decimal,)))
            for visible_check in question.visible
        ],
    }


def _needs_whole(options: Mapping[str, Any]) -> bool:
    """Decide whether exactly a whole number without a unit is correct."""
    value, exact = options.get("value"), options.get("tolerance", "exact") == "exact"
    return exact and not options.get("unit") and type(value) is int


def _is_value(question: Question, rubric: Rubric) -> bool:
    """Decide whether Python checks judge a value: their solution assigns the name instead of defining it."""
    file = rubric.checks.get(question.id)
    if file is None or not file.solution:
        return False
    statements = parse_module(file.solution).body
    assigned = (statement for statement in statements if isinstance(statement, ast.Assign | ast.AnnAssign))
    return question.answer in collect_bound_names(*assigned)


def _find_cell(question: Question, release: Release | None) -> str:
    """Return the name of the answer cell; empty if the answer is a file."""
    if question.file:
        return ""
    return release.find_answer_cell(question) if release else question.answer_cell


def _read_given(question: Question, release: Release | None) -> str:
    """Return the released code of a question's answer cell; empty if it is no code."""
    name = _find_cell(question, release)
    cell = release.by_id[name] if release and name else None
    return cell.source if cell and cell.cell_type == "code" else ""


def _hash_options(question: Question, release: Release | None) -> list[str]:
    """Return hashes of the options of a choice; none unless students are shown all of them."""
    if release is None:
        return []
    option_names: list[tuple[str, ...]] = [(name,) for name in question.options.get("names", ())]
    option_names += [
        (option["id"], *option.get("aliases", ())) for option in question.options.get("option", ())
    ]
    # An option recognised by its beginning has no complete list of names.
    if any(option.get("begins") for option in question.options.get("option", ())):
        return []
    words = _normalize_words("\n".join(cell.source for cell in release.cells))
    # Hashes of options that students cannot see would reveal by trial which names exist.
    shown = all(
        any(f" {_normalize_words(name)} " in f" {words} " for name in names) for names in option_names
    )
    if question.options.get("preset") == "yes-no":
        option_names += [(name, *aliases) for name, aliases in closed_lists.YES_NO.items()]
    return sorted({closed_lists.hash_name(name) for names in option_names for name in names}) if shown else []


def _normalize_words(text: str) -> str:
    """Return a text as words separated by spaces, so that one text can be searched in another."""
    return " ".join(re.findall(r"\w+", text.casefold().replace("_", " ")))


def _to_plain(value: Any) -> Any:
    """Return a table of the rubric with floats for its decimals."""
    if isinstance(value, dict):
        return {key: _to_plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(entry) for entry in value]
    return float(value) if isinstance(value, Decimal) else value
