"""The staff's page of a run: every student in a row, with what is open and what was noted."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct

from autograder.feedback.labels import Labels
from autograder.feedback.render import environment
from autograder.feedback.sanitise import POLICY, visible
from autograder.records import Graded, Status
from autograder.rubric import Rubric


class _Row(Struct, frozen=True):
    student: str
    stated: str
    points: str
    pending: str
    counts: tuple[tuple[str, int], ...]
    """Status → number of items."""
    endings: str
    isolation: str
    seconds: str
    notes: tuple[str, ...]


def render_summary(results: Iterable[Graded], rubric: Rubric) -> str:
    """A table of all students for staff, in English, as one HTML file without scripts or requests.

    It holds staff texts: it is not for students. Students' own texts in it are escaped like on their pages.

    Args:
        results: the results of a run, in the order in which they are to stand.
        rubric: the rubric they were graded by.
    """
    labels = Labels("en")
    graded = list(results)
    rows = [_row(result, labels) for result in graded]
    points = [result.score.points for result in graded]
    mean = (sum(points, Decimal(0)) / len(points)).quantize(Decimal("0.01")) if points else Decimal(0)
    text = (
        environment()
        .get_template("summary.html")
        .render(
            title=labels.pick(rubric.assignment.title, rubric.assignment.name),
            version=rubric.version,
            possible=labels.number(rubric.assignment.points),
            mean=labels.number(mean),
            rows=rows,
            label=labels,
            policy=POLICY,
        )
    )
    return text.encode("utf-8", "replace").decode()


def _row(graded: Graded, labels: Labels) -> _Row:
    score = graded.score
    statuses = [item.status for item in score.items]
    endings = [
        run.ending.value for notebook in graded.notebooks for run in notebook.runs if run and run.ending
    ]
    return _Row(
        student=visible(score.student, 200),
        stated=visible(", ".join(graded.stated.values()), 500),
        points=labels.number(score.points),
        pending=labels.number(score.pending) if score.pending else "",
        counts=tuple((status.value, statuses.count(status)) for status in Status if status in statuses),
        endings=", ".join(dict.fromkeys(endings)),
        isolation="" if score.isolation == "namespaces" else visible(score.isolation, 40),
        seconds=f"{graded.seconds:.2f}",
        notes=tuple(
            visible(f"{note.place}: {note.text}" if note.place else note.text, 500) for note in score.notes
        ),
    )
