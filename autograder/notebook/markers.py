"""Regions that a source notebook withholds from students, marked as in nbgrader."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from autograder.core.errors import NotebookError
from autograder.notebook.release import ReleaseCell

REGIONS = ("SOLUTION", "HIDDEN TESTS", "MARK SCHEME")
"""A region begins with a line that contains ``BEGIN <name>`` and ends with one that contains ``END
<name>``."""
STUB_LINES = ("# YOUR CODE HERE", "raise NotImplementedError()", "YOUR ANSWER HERE")
"""Lines with which nbgrader replaces a solution."""

_HIDDEN = "BEGIN HIDDEN TESTS"
_TEST = re.compile(r"\s*(?:raise\b|(?:with\s+)?(?:\w+\.)*(?:assert\w*|raises|ok_|eq_)\b(?!\s*=))")
"""Start of a line that raises an error or calls a test function of pytest, unittest or nose."""


class Split(Struct, frozen=True):
    """Lines of one cell without marker lines: those that students see, and those of all regions."""

    kept: tuple[str, ...]
    withheld: tuple[str, ...]
    regions: tuple[str, ...]
    """Names of the regions, once per occurrence."""


def split_regions(source: str, place: str) -> Split:
    """Separate the withheld lines of a cell from those that students see.

    Raises:
        NotebookError: ``bad-markers``: regions are nested, not closed, or closed without a beginning.
    """
    kept: list[str] = []
    withheld: list[str] = []
    regions: list[str] = []
    inside = ""
    since = 0
    for number, line in enumerate(source.split("\n"), start=1):
        begin = next((name for name in REGIONS if f"BEGIN {name}" in line), "")
        # A closing marker must match the open region by name, which also detects crossed regions.
        end = next((name for name in REGIONS if f"END {name}" in line), "")
        if begin and inside:
            raise _make_marker_error(
                place, number, f"BEGIN {begin} stands inside BEGIN {inside} of line {since}"
            )
        if end and end != inside:
            state = f"BEGIN {inside} of line {since} is open" if inside else "no region is open"
            raise _make_marker_error(place, number, f"END {end} without its beginning: {state}")
        if begin:
            inside, since = begin, number
            regions.append(begin)
        elif end:
            inside = ""
        else:
            (withheld if inside else kept).append(line)
    if inside:
        raise _make_marker_error(place, since, f"BEGIN {inside} has no END {inside}")
    return Split(tuple(kept), tuple(withheld), tuple(regions))


def check_markers(cells: Sequence[ReleaseCell], name: str) -> None:
    """Refuse markers that nbgrader would drop silently or that are in the wrong kind of cell.

    Raises:
        NotebookError: ``bad-markers``; names the cell and the line.
    """
    for cell in cells:
        place = f"notebook {name!r}, cell {cell.number}"
        allowed = {
            "SOLUTION": cell.is_answer,
            "HIDDEN TESTS": True,  # `check_tests` refuses them with advice
            "MARK SCHEME": cell.task,
        }
        for region in split_regions(cell.source, place).regions:
            if not allowed[region]:
                kind = {"SOLUTION": "an answer cell", "MARK SCHEME": "a task"}
                raise NotebookError(
                    "bad-markers", f"{place}: BEGIN {region} is only allowed in {kind[region]} of nbgrader."
                )


def check_tests(cells: Sequence[ReleaseCell], name: str) -> None:
    """Refuse tests in nbgrader's style: hidden ones, and assertions in a cell that carries points.

    Code in a notebook earns or loses no points here. Such a test would silently be ignored.

    Raises:
        NotebookError: ``own-tests``; names the cell and the line, and says what to do.
    """
    for cell in cells:
        lines = list(enumerate(cell.source.split("\n"), start=1))
        hidden = next((number for number, line in lines if _HIDDEN in line), 0)
        graded = cell.grade and not cell.solution and cell.cell_type == "code"
        test = next((number for number, line in lines if _TEST.match(line)), 0)
        if line := hidden or (graded and test):
            subject = "hidden tests are" if hidden else "a test in the cell that carries the points is"
            named = f" ({cell.grade_id})" if cell.grade_id else ""
            raise NotebookError(
                "own-tests",
                f"notebook {name!r}, cell {cell.number}{named}, line {line}: {subject} never asked "
                "for points; "
                "those follow from the rubric alone. State there what is tested (for code a question of the "
                "kind code, for values number, formula or shape; see "
                "docs/rubric.md), and take the tests out of the cell.",
            )


def _make_marker_error(place: str, line: int, problem: str) -> NotebookError:
    """Return the error for a misplaced marker."""
    return NotebookError("bad-markers", f"{place}, line {line}: {problem}.")
