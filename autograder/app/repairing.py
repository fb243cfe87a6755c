"""Check that questions of kind ``repair`` give students the listing in their checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import zip_longest

from autograder.grading.assignment import Assignment
from autograder.grading.verify import VerifyFinding
from autograder.questions.repair import RepairCheck


def check_handed_out_listings(loaded: Assignment) -> Iterator[VerifyFinding]:
    """Yield a finding for each question with a release that lacks a fault of the listing."""
    for question in loaded.rubric.questions:
        check = loaded.checks[question.id]
        if not isinstance(check, RepairCheck):
            continue
        release = loaded.releases[question.notebook or loaded.rubric.assignment.notebooks[0].name]
        cell = release.by_id.get(release.find_answer_cell(question))
        faulty = check.file.make_listing(check.planted)
        got = describe_difference(cell.source if cell else "", faulty)
        if got:
            yield VerifyFinding(
                "untouched release",
                question.id,
                "the listing with all faults, as the checks state them",
                got,
                f"let this stand above the solution:\n{faulty}",
            )


def describe_difference(cell_source: str, faulty: str) -> str:
    """Describe the first line in which a cell differs from a listing as syntax tree; empty: none.

    Comments and imports are ignored, and so are definitions that are missing in the cell, except the last.
    """
    try:
        cell, wanted = (_collect_definitions(source) for source in (cell_source, faulty))
    except SyntaxError as error:
        return f"no Python: line {error.lineno}: {error.msg}"
    for name, lines in wanted.items():
        if name not in cell:
            if name == next(reversed(wanted)):
                return f"no {name}"
            continue
        for given_line, right in zip_longest(cell[name], lines, fillvalue="nothing more"):
            if given_line != right:
                return f"{given_line.strip()!r} where the listing with all faults has {right.strip()!r}"
    return ""


def _collect_definitions(source: str) -> dict[str, list[str]]:
    """Map each name that a source binds to the normalised lines of its last binding statement."""
    definitions: dict[str, list[str]] = {}
    for statement in ast.parse(source).body:
        lines = ast.unparse(statement).splitlines()
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                definitions.pop(name, None)
                definitions[name] = lines
            case ast.Assign() | ast.AnnAssign():
                definitions[lines[0].partition("=")[0].strip()] = lines
    return definitions
