"""The total of a course over several assignments, without the lowest ones if the course drops some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from autograder.app import SILENT, Listener
from autograder.app.class_lists import read_roster
from autograder.app.classes import collect_standings
from autograder.core.errors import CourseError
from autograder.course import Course, schedule
from autograder.grading.grades import NOTHING, Standing


class TotalPart(Struct, frozen=True):
    """One assignment of one student."""

    assignment: str
    points: Decimal
    possible: Decimal
    handed_in: bool
    final: bool
    dropped: bool = False
    """It is one of the lowest, and does not count."""


class Total(Struct, frozen=True):
    """One student's total."""

    student: str
    parts: tuple[TotalPart, ...]

    @property
    def points(self) -> Decimal:
        """Points of the assignments that count."""
        return sum((part.points for part in self.parts if not part.dropped), NOTHING)

    @property
    def possible(self) -> Decimal:
        """Possible points of the assignments that count."""
        return sum((part.possible for part in self.parts if not part.dropped), NOTHING)

    @property
    def final(self) -> bool:
        """Whether no open mark can change it."""
        return all(part.final for part in self.parts)


class Totals(Struct, frozen=True):
    """The totals of a class."""

    rows: tuple[Total, ...]
    assignments: tuple[str, ...]
    """The graded ones, in order."""
    dropped: int
    """Number of lowest assignments that are left out."""
    remarks: tuple[str, ...]
    """For staff, a sentence each."""


def compute_totals(course: Course, *, watch: Listener = SILENT) -> Totals:
    """Return each student's total over the assignments in ``exams.toml``, or else those with a deadline.

    The lowest assignments are those with the smallest share of the possible points; of equal ones the later
    is dropped. An assignment without any graded student does not count, and reduces the number of dropped
    ones.

    Raises:
        CourseError: no assignment is named, none was graded, or a list of the course is not usable.
        RubricError: a rubric is not valid.
        GradebookError: the store reported an error.
    """
    order, drop = schedule.load_best_of(course)
    if not order:
        raise CourseError(
            f"{course.exams}: expected [course.best_of] assignments, or assignments with an end"
        )
    graded: dict[str, Mapping[str, Standing]] = {}
    remarks = []
    for name in order:
        class_standings = collect_standings(course, name, watch=watch)
        if class_standings.rows:
            graded[name] = class_standings.rows
            remarks += [f"{name}: {remark}" for remark in class_standings.roll.remarks]
        else:
            remarks.append(f"{name} counts for nobody: nobody was graded in it yet")
    # An assignment that is not graded yet already is one that does not count.
    drop = max(0, drop - (len(order) - len(graded)))
    students = {student for rows in graded.values() for student in rows}
    if course.roster.is_file():
        students |= {student_listed.id for student_listed in read_roster(course.roster)}
    rows = tuple(compute_total(student, graded, drop) for student in sorted(students))
    return Totals(rows, tuple(graded), drop, tuple(remarks))


def compute_total(student: str, graded: Mapping[str, Mapping[str, Standing]], drop: int) -> Total:
    """Return the total of one student; a missing submission has zero points."""
    parts = []
    for name, rows in graded.items():
        student_standing = rows.get(student)
        # Without a standing, the possible points are those of any other student.
        whole = student_standing or next(iter(rows.values()))
        possible = sum((question.possible for question in whole.questions if not question.bonus), NOTHING)
        points, final = (
            (student_standing.total, student_standing.final) if student_standing else (NOTHING, True)
        )
        parts.append(TotalPart(name, points, possible, student_standing is not None, final))
    return Total(student, mark_dropped(parts, drop))


def mark_dropped(parts: Sequence[TotalPart], drop: int) -> tuple[TotalPart, ...]:
    """Return the parts, with the lowest ones marked as dropped."""

    def get_share(position: int) -> Fraction:
        part = parts[position]
        # Fractions compare exactly. Without possible points the share counts as full, so it is dropped last.
        return Fraction(part.points) / Fraction(part.possible) if part.possible else Fraction(1)

    # By -index: of equal shares, the later assignment is dropped first.
    lowest = sorted(range(len(parts)), key=lambda index: (get_share(index), -index))[:drop]
    return tuple(replace(part, dropped=index in lowest) for index, part in enumerate(parts))
