"""One student's marks as a record for other programs, documented as JSON Schema, the same in every export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from autograder.core.records import GradingResult, Status
from autograder.core.wording import get_text
from autograder.exchange.platforms.people import ListedStudent, Register
from autograder.grading.assignment import Assignment
from autograder.grading.grades import Standing
from autograder.pages.feedback.lines import RubricLine, list_rubric_lines
from autograder.pages.feedback.sanitise import render_sentence, to_printable_text
from autograder.rubric import Question, Rubric

FORMAT = 1
"""Raised when a key is removed or changes its meaning; new keys do not count."""
DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MOST_COMMENT = 20_000
"""Characters."""

Points = Annotated[Decimal, Meta(description="Points, exact, as a number.")]


class ItemMark(Struct, frozen=True):
    """A line of the rubric."""

    id: Annotated[str, Meta(description="Within the question.")]
    title: Annotated[str, Meta(description="What students read of the item.")]
    possible: Points
    points: Annotated[Decimal | None, Meta(description="Null where a person's mark is for several items.")]
    status: Annotated[Status, Meta(description="needs-review: a person has yet to decide.")]
    marked: Annotated[bool, Meta(description="A person gave the points.")]
    mistake: Annotated[str, Meta(description="The name of what was found; empty where it has none.")]
    message: Annotated[str, Meta(description="What the student reads about it.")]


class QuestionMark(Struct, frozen=True):
    """A question."""

    id: str
    possible: Points
    points: Annotated[Decimal, Meta(description="So far.")]
    bonus: Annotated[bool, Meta(description="Its points add to what was earned, not to what is possible.")]
    open: Annotated[bool, Meta(description="Some of it waits for a person.")]
    comments: Annotated[tuple[str, ...], Meta(description="What people wrote about it.")]
    items: tuple[ItemMark, ...]


class GradeLine(Struct, frozen=True):
    """The marks of one student in one assignment."""

    format: Annotated[int, Meta(ge=1, description="Of this line: 1.")]
    assignment: str
    student: Annotated[str, Meta(description="The id, as in the class list.")]
    first_name: str
    last_name: str
    email: str
    possible: Points
    points: Annotated[Decimal, Meta(description="So far, without bonus points.")]
    bonus: Annotated[Decimal, Meta(description="Bonus points, whether they count or not.")]
    total: Annotated[Decimal, Meta(description="What counts so far, bonus points included.")]
    open: Annotated[Decimal, Meta(description="Points that can still come.")]
    grade: Annotated[
        str | None, Meta(description="The worst that can come of it; null: there are no grades.")
    ]
    best_grade: Annotated[str | None, Meta(description="The best; the same as grade where all is final.")]
    passed: Annotated[bool | None, Meta(description="Null while it is open, or where there are no grades.")]
    state: Annotated[
        Literal["final", "provisional"],
        Meta(description="provisional: a person has yet to decide, or the rubric has changed since."),
    ]
    submitted_at: Annotated[str | None, Meta(description="When it was handed in, in UTC (RFC 3339).")]
    questions: tuple[QuestionMark, ...]

    @property
    def final(self) -> bool:
        """Nothing is open."""
        return self.state == "final"


def make_grade_lines(
    assignment: Assignment,
    results: Mapping[str, GradingResult],
    standings: Mapping[str, Standing],
    *,
    register: Register,
    submitted: Mapping[str, datetime | None],
    language: str,
) -> Iterator[GradeLine]:
    """Yield the line of every student with a result.

    Args:
        assignment: loaded.
        results: by student.
        standings: of the same students.
        register: names and addresses.
        submitted: submission time of each student.
        language: of titles and messages.
    """
    for student, stands in standings.items():
        rubric = assignment.get_rubric(student)
        listed = register.get_student(student) or ListedStudent(student)
        moment = submitted.get(student)
        yield GradeLine(
            FORMAT,
            rubric.assignment.name,
            student,
            listed.first_name,
            listed.last_name,
            listed.email,
            rubric.assignment.points,
            stands.points,
            stands.bonus,
            stands.total,
            stands.pending,
            stands.worst.name if stands.worst else None,
            stands.best.name if stands.best else None,
            stands.passed,
            "final" if stands.final else "provisional",
            moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else None,
            tuple(_make_question_marks(results[student], rubric, stands, language)),
        )


def _make_question_marks(
    graded: GradingResult, rubric: Rubric, stands: Standing, language: str
) -> Iterator[QuestionMark]:
    lines_by_question = list_rubric_lines(graded.score, rubric, stands)
    for question, points in zip(rubric.questions, stands.questions, strict=True):
        items = tuple(
            _make_item_mark(question, line, language, final=stands.final)
            for line in lines_by_question[question.id]
        )
        # Bounded and printable: people wrote these texts, and unknown programs read them.
        comments = tuple(to_printable_text(comment, _MOST_COMMENT) for comment in points.comments)
        possible = points.possible
        yield QuestionMark(
            question.id, possible, points.points, points.bonus, points.pending, comments, items
        )


def _make_item_mark(question: Question, line: RubricLine, language: str, *, final: bool) -> ItemMark:
    result, item = line.result, question.get_item(line.result.item)
    message = "" if line.silent else render_sentence(result.student, language)
    # One mark for several items cannot be divided between them.
    points = None if line.shared or result.status is Status.NEEDS_REVIEW else result.points
    return ItemMark(
        item.id,
        get_text(item.get_title(final=final), language) or item.id,
        result.possible,
        points,
        result.status,
        line.marked,
        result.code,
        message,
    )


def encode_json_lines(lines: Iterator[GradeLine] | tuple[GradeLine, ...]) -> bytes:
    """Encode the lines as JSON Lines: UTF-8, one object per line."""
    encoder = msgspec.json.Encoder(decimal_format="number")
    return b"".join(encoder.encode(line) + b"\n" for line in lines)


def build_schema() -> dict[str, Any]:
    """Return the JSON Schema of a line."""
    line_schema = msgspec.json.schema(GradeLine)
    return {"$schema": DIALECT, **_replace_decimals(line_schema)}


def _replace_decimals(value: Any) -> Any:
    """Describe Decimals as numbers, because msgspec's schema describes them as texts."""
    if isinstance(value, list):
        return [_replace_decimals(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.get("format") == "decimal":
        kept = {key: part for key, part in value.items() if key not in {"type", "format"}}
        return {"type": "number", **kept}
    return {key: _replace_decimals(part) for key, part in value.items()}
