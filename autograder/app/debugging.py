"""What authors of questions of kind ``debugging`` must know before anybody is graded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import zip_longest

from autograder.assignment import Assignment
from autograder.course import Course
from autograder.errors import CourseError
from autograder.kinds.general.debugging import DebuggingCheck
from autograder.rubric import Question
from autograder.verify import VerifyFinding

__all__ = ["difference", "handed_out", "work"]


def work(loaded: Assignment) -> Iterator[str]:
    """How much is run for each question of the kind before anybody is graded, in words."""
    for question in loaded.rubric.questions:
        if isinstance(check := loaded.checks[question.id], DebuggingCheck):
            yield f"{question.id}: {check.work.words}"


def handed_out(loaded: Assignment) -> Iterator[VerifyFinding]:
    """Questions whose released answer cell is another listing than that with all faults.

    Raises:
        CourseError: a reference cannot be read, or a fault cannot be planted.
    """
    for question in loaded.rubric.questions:
        check = loaded.checks[question.id]
        if not isinstance(check, DebuggingCheck):
            continue
        listing = check.listing_in(_module(loaded.course, question))
        release = loaded.releases[question.notebook or loaded.rubric.assignment.notebooks[0].name]
        cell = release.by_id.get(release.answer_cell(question))
        faulty = listing.text(listing.faults)
        got = difference(cell.source if cell else "", faulty)
        if got:
            yield VerifyFinding(
                "untouched release",
                question.id,
                "the listing with all faults, as the rubric states them",
                got,
                f"let this stand above the solution:\n{faulty}",
            )


def difference(given: str, faulty: str) -> str:
    """How a cell differs from a listing as a syntax tree, by the first line; empty: it does not.

    Comments and imports do not count, nor definitions that the cell leaves to others.
    """
    try:
        cell, wanted = (_definitions(source) for source in (given, faulty))
    except SyntaxError as error:
        return f"no Python: line {error.lineno}: {error.msg}"
    for name, lines in wanted.items():
        if name not in cell:
            if name == next(reversed(wanted)):
                return f"no {name}"
            continue
        for own, right in zip_longest(cell[name], lines, fillvalue="nothing more"):
            if own != right:
                return f"{own.strip()!r} where the listing with all faults has {right.strip()!r}"
    return ""


def _definitions(source: str) -> dict[str, list[str]]:
    """Each name that a source binds, with the lines of the last statement that does, in one form."""
    found: dict[str, list[str]] = {}
    for statement in ast.parse(source).body:
        lines = ast.unparse(statement).splitlines()
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.pop(name, None)
                found[name] = lines
            case ast.Assign() | ast.AnnAssign():
                found[lines[0].partition("=")[0].strip()] = lines
    return found


def _module(course: Course, question: Question) -> str:
    """The text of the module of the reference that holds a right listing."""
    stem = course.reference.joinpath(*question.reference.partition(":")[0].split("."))
    paths = (stem.with_suffix(".py"), stem / "__init__.py")
    path = next((one for one in paths if one.is_file()), None)
    if path is None:
        raise CourseError(f"{paths[0]}: not there; question {question.id!r} names it as its reference")
    return path.read_text(encoding="utf-8")
