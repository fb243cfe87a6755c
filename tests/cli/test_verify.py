"""The command ``verify``: output, files and exit codes."""

from __future__ import annotations

import io
import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console

from autograder.cli import preparation as verdicts
from autograder.cli import report
from autograder.course import Course
from autograder.grading.verify import Mark, Matrix, Row, Verification, VerifyFinding
from tests.cli.running import only_object, run
from tests.support.small_course import NAME, changed, small_course

LONG = "a planted answer with a name that does not fit into one line of a terminal of eighty columns at all"
FINDING = VerifyFinding(
    "trial 'x' of q", "q.b", "lost", "1 of 1 points (passed): as expected [of q]", "look [closer]"
)
MATRIX = Matrix(
    "q",
    tuple("abcdefghij"),
    ("c",),
    (
        Row("mistake", "", ("a",), {"a": Mark.LOST, **dict.fromkeys("bcdefghij", Mark.KEPT)}),
        Row(LONG, "", ("b",), dict.fromkeys("abcdefghij", Mark.KEPT), ("b",), (FINDING,)),
        Row(
            "misconception 1",
            "misconceptions",
            ("a",),
            {"a": Mark.LOST, **dict.fromkeys("bcdefghij", Mark.KEPT)},
        ),
        Row(
            "misconception 2",
            "misconceptions",
            ("a",),
            {"a": Mark.LOST, **dict.fromkeys("bcdefghij", Mark.KEPT)},
        ),
        Row("alternative [i]", "", (), dict.fromkeys("abcdefghij", Mark.KEPT)),
    ),
)


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return what is printed on a terminal of eighty columns."""
    out = io.StringIO()
    monkeypatch.setattr(report, "make_console", lambda: Console(file=out, width=80, highlight=False))
    return out


def test_a_matrix_fits_into_eighty_columns(printed: io.StringIO) -> None:
    """Marks are in numbered columns on the left, so that long names wrap without breaking the table."""
    verdicts.show_verdicts(Verification("exam", (FINDING,), (MATRIX,)))
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines]
    nine = ["·"] * 9
    assert ["●", *nine[1:], "mistake"] in rows
    assert ["●", *nine[1:], "misconceptions", "(2)"] in rows
    assert [*nine, "alternative", "[i]"] in rows
    assert any(row[:3] == ["·", "!", "·"] and row[9:11] == ["a", "planted"] for row in rows)
    assert "q: 5 trials, 3 of 4 mistakes lose what they must, 1 of 1 alternatives lose" in printed.getvalue()


def test_a_finding_says_what_to_do(printed: io.StringIO) -> None:
    """A finding shows place, submission, expected and actual result and remedy, including brackets."""
    verdicts.show_verdicts(Verification("exam", (FINDING,), (MATRIX,)))
    text = printed.getvalue()
    for part in ("1. q.b: trial 'x' of q", "as expected [of q]", "what to do", "look [closer]", "1 findings"):
        assert part in text, part


def test_what_machines_read() -> None:
    """The JSON output contains every row, mark and finding."""
    written = verdicts.to_plain([Verification("exam", (FINDING,), (MATRIX,))], "namespaces")
    assert (1, "namespaces") == (written["findings"], written["isolation"])
    (exam,) = written["assignments"]
    assert "lost" == exam["matrices"][0]["rows"][0]["marks"]["a"]
    assert "look [closer]" == exam["findings"][0]["remedy"]
    assert Decimal(0) == exam["key"]["cell_seconds"]


@pytest.mark.parametrize(
    ("automatic", "possible", "said"),
    [
        ("10", "10", "exam: 10 of 10 points are decided automatically\n"),
        ("2", "2.5", "exam: 2 of 2.5 points are decided automatically; 0.5 need manual marking\n"),
    ],
    ids=["everything", "half a point by hand"],
)
def test_verify_says_how_many_points_are_decided_automatically(
    automatic: str, possible: str, said: str, printed: io.StringIO
) -> None:
    """The message gives the share of automatic points; a mostly manual exam is not fully verified."""
    verdicts.show_verdicts(Verification("exam", (), automatic=Decimal(automatic), possible=Decimal(possible)))
    assert said in printed.getvalue()


@pytest.fixture
def small(tmp_path: Path) -> Course:
    """Return the small course."""
    return small_course(tmp_path / "course")


@pytest.mark.slow
@pytest.mark.sandbox
def test_without_a_name_every_assignment_is_verified(small: Course) -> None:
    """An unusable assignment is reported, the others are still verified, and the exit code is 1."""
    shutil.copytree(small.sources / NAME, small.sources / "broken")
    rubric = small.locate_rubric(NAME).read_text("utf-8")
    (small.rubrics / "broken.toml").write_text(
        rubric.replace('"small"', '"broken"').replace("points = 13", "points = 12")
    )
    done = run("verify", "--json", cwd=small.root)
    assert (1, "") == (done.returncode, done.stderr)
    assert "12 are stated, but the parts add up to 13" in done.stdout
    written = only_object(done.stdout)
    assert {"broken": 1, NAME: 0} == {
        assignment["assignment"]: len(assignment["findings"]) for assignment in written["assignments"]
    }
    assert (
        0
        < next(assignment for assignment in written["assignments"] if assignment["assignment"] == NAME)[
            "seconds"
        ]
    )


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_module_to_preload_that_is_not_there_is_the_rubrics_error(small: Course) -> None:
    """Every command that runs code reports the line of the rubric, and does not blame the machine."""
    changed(small.locate_rubric(NAME), '["numpy"]', '["nunpy"]')
    said = "small.toml, line 6: [assignment]: preload: the module 'nunpy' is not found: did you mean 'numpy'?"
    for options in ((), ("--quick",)):
        done = run("verify", NAME, *options, cwd=small.root)
        assert 1 == done.returncode
        assert said in " ".join(done.stdout.split())
        assert "cannot be built" not in done.stdout


def test_a_course_without_assignments(tmp_path: Path) -> None:
    """Having no assignments to verify is not a success."""
    for folder in ("assignments", "rubrics"):
        (tmp_path / folder).mkdir()
    done = run("verify", cwd=tmp_path)
    assert 3 == done.returncode
    assert "known assignments: none" in done.stderr
