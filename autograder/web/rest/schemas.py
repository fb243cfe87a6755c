"""The data of the API.

Points are exact decimals as text, times state their offset from UTC, and files are named by their paths.
"""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from ninja import Field, Schema
from pydantic import AfterValidator, WithJsonSchema, model_validator

from autograder.rubric.lateness import Counts, DayLength, Rule
from autograder.service.models import Role, State
from autograder.service.protection.people import Kind

MOST_ITEMS = 500
MOST_STUDENTS = 5_000
"""Students in one request."""


def _refuse_unstorable(text: str) -> str:
    # No database can store these: NUL, and halves of characters, which JSON can contain.
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("it contains a character that cannot be stored")
    return text


def _check_table(table: dict[str, Any]) -> dict[str, Any]:
    _refuse_unstorable(json.dumps(table, ensure_ascii=False))
    return table


Text = Annotated[str, AfterValidator(_refuse_unstorable)]
Table = Annotated[dict[str, Any], AfterValidator(_check_table)]
_POINTS: dict[str, Any] = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": -1_000_000, "exclusiveMaximum": 1_000_000},
        {"type": "string", "pattern": r"^-?[0-9]{1,6}(\.[0-9]{1,6})?$"},
    ]
}
Points = Annotated[Decimal, Field(max_digits=12, decimal_places=6), WithJsonSchema(_POINTS)]
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Data(Schema):
    """Base of all data: the docstrings of attributes are part of the API's description."""

    model_config = {"use_attribute_docstrings": True}  # noqa: RUF012 - as the library has it

    @model_validator(mode="before")
    @classmethod
    def check_type(cls, received: Any) -> Any:
        """Refuse other JSON than objects, of which django-ninja reads attributes: a list would have none."""
        if isinstance(getattr(received, "_obj", received), list | str | int | float | None):
            raise ValueError("it is not an object")  # noqa: TRY004 - pydantic reports no other class
        return received


class PageChoice(Data):
    """Which part of a list is requested."""

    limit: int = Field(100, ge=1, le=MOST_ITEMS)
    offset: Number = 0


class StudentChoice(PageChoice):
    """Which part of a list is requested, optionally of one student alone."""

    student: Text = ""


class AnswerChoice(StudentChoice):
    """Which part of a list is requested, optionally of one student or cell alone."""

    cell: Text = ""


def cut_page(rows: QuerySet[Any], page: PageChoice) -> dict[str, Any]:
    """Return the requested part of a list and the length of the whole list."""
    return {"items": list(rows[page.offset : page.offset + page.limit]), "count": rows.count()}


class CourseOut(Data):
    """A course of the key's owner."""

    slug: str
    title: str
    role: Role
    student: str
    """The owner's student id; empty for staff."""


class CoursePage(Data):
    """A part of the list of courses."""

    items: list[CourseOut]
    count: int


class AssignmentOut(Data):
    """An assignment as the key's owner sees it."""

    name: str
    title: str
    version: int
    visible: bool
    published: bool
    """Students see their marks."""
    opens_at: datetime | None
    """For students, the times that apply to them."""
    ends_at: datetime | None
    open: bool
    """It has begun: its files can be downloaded, and submissions are accepted."""
    files: dict[str, str]
    """The SHA-256 of each released file of the student, by path; empty for staff, or if it is not open."""
    feedback: bool
    """The student's feedback page can be downloaded."""


class AssignmentPage(Data):
    """A part of the list of assignments."""

    items: list[AssignmentOut]
    count: int


class AssignmentChange(Data):
    """Changes of an assignment; missing values stay."""

    visible: bool | None = None
    published: bool | None = None


class SlipDaysData(Data):
    """Slip days of an assignment."""

    days: Number
    """Of each student in the whole course."""
    most: Number
    """For this assignment."""


class TimesIn(Data):
    """Dates and late rules of an assignment, with the names and values that exams.toml has."""

    start: Text | None = None
    """By the clock of ``zone``, or with an offset from UTC."""
    end: Text | None = None
    minutes: Number | None = None
    """The working time of each student, from opening the assignment."""
    zone: Text | None = None
    late: Rule | None = None
    grace_minutes: Number | None = None
    penalty: Table | None = None
    late_days: DayLength | None = None
    slip_days: SlipDaysData | None = None


class ExtensionData(Data):
    """An extension: other times or another late rule for a student or a group."""

    start: Text | None = None
    end: Text | None = None
    extra_minutes: Number | None = None
    """Instead of ``end``."""
    late: Rule | None = None


class TimesOut(TimesIn):
    """Dates, late rules and extensions of an assignment."""

    counts: Counts | None = None
    """Which attempt counts."""
    students: dict[str, ExtensionData] = Field(default_factory=dict)
    """Extensions by student."""
    groups: dict[str, ExtensionData] = Field(default_factory=dict)
    """Extensions by group."""


class FileOut(Data):
    """A submitted file."""

    name: str
    size: int
    sha256: str


class AttemptOut(Data):
    """A submission."""

    id: UUID
    assignment: str
    student: str
    number: int
    state: State
    submitted_at: datetime
    graded_at: datetime | None
    counts: bool
    """It is the one that counts, or one of two that count together."""
    problem: str
    """For staff: why it could not be graded."""
    files: list[FileOut]


class AttemptPage(Data):
    """A part of the list of attempts."""

    items: list[AttemptOut]
    count: int


class ReceiptOut(Data):
    """A signed receipt (`autograder.service.receipts`)."""

    format: str
    course: str
    assignment: str
    student: str
    attempt: int
    id: UUID
    received: datetime
    digest: str
    files: dict[str, str]
    signature: str


class LineOut(Data):
    """A remark on an answer or a file."""

    state: str
    text: str
    mathml: str
    """A formula as it was read; empty for other remarks."""
    reading: str
    """The same as plain text."""


class ReadAnswerOut(Data):
    """How the answer to a question is read."""

    question: str
    title: str
    lines: list[LineOut]


class ReadFileOut(Data):
    """How a file is read, without running it."""

    name: str
    reason: str
    """Why it cannot be read; empty if it can."""
    answers: list[ReadAnswerOut]
    cells: list[LineOut]


class TimingOut(Data):
    """A remark on the time of an attempt."""

    late: bool
    text: str


class ReadingsOut(Data):
    """How an attempt was received and read, for the reader; it says nothing about marks."""

    received: str
    timing: list[TimingOut]
    checked: list[ReadFileOut]


class ItemOut(Data):
    """The result of one item of a question."""

    question: str
    number: int
    """Its position in the question, from 1."""
    title: str
    status: str
    points: str | None
    """With marks of people; None: the item waits for manual review, or its cell was marked as a whole."""
    possible: str
    text: str
    """The explanation for the student."""
    staff: str
    """The explanation for staff; empty for students."""


class ResultOut(Data):
    """The marks of a student in an assignment."""

    student: str
    points: str
    """Points that count so far, with bonus points and late penalty, before rounding."""
    possible: str
    final: bool
    """Nothing waits for manual review or a decision about lateness."""
    passed: bool | None
    group: str


class ResultPage(Data):
    """A part of the list of results."""

    items: list[ResultOut]
    count: int


class ResultDetailOut(ResultOut):
    """The marks of a student, with the result of every item."""

    items: list[ItemOut]


class AnswerOut(Data):
    """An answer that needs or has manual marks."""

    id: int
    student: str
    notebook: str
    cell: str
    text: str
    revision: int
    """Incremented by each change; a mark must name the revision that it is about."""
    points: str | None
    items: dict[str, str]
    """Points from people, by item."""
    worth: dict[str, str]
    """Possible points, by item."""
    comment: str
    remarks: dict[str, str]
    flagged: bool
    waiting: bool
    """It has no complete mark yet."""
    marked_by: str
    marked_at: datetime | None


class AnswerPage(Data):
    """A part of the list of answers."""

    items: list[AnswerOut]
    count: int


class MarkIn(Data):
    """A person's marks of an answer."""

    revision: Number
    items: dict[Text, Points] = Field(default_factory=dict)
    """Points by item; items that are not named stay open."""
    comment: Text = ""
    remarks: dict[Text, Text] = Field(default_factory=dict)
    flagged: bool = False


class RequestOut(Data):
    """A regrade request."""

    id: int
    student: str
    question: str
    item: str
    reason: str
    made_at: datetime
    points: str | None
    """Of the item when the request was made; None: its cell was marked as a whole."""
    open: bool
    """It is neither answered nor withdrawn."""
    answer: str
    """Empty if it is not answered."""
    answered_by: str
    answered_at: datetime | None
    points_after: str | None


class RequestPage(Data):
    """A part of the list of regrade requests."""

    items: list[RequestOut]
    count: int


class RequestAnswer(Data):
    """An answer to a regrade request."""

    text: Text
    """For the student."""
    points: Points | None = None
    """New points of the item; None: the mark stays."""


class MemberOut(Data):
    """A member of a course."""

    id: int
    role: Role
    student: str
    first_name: str
    last_name: str
    email: str
    account: bool
    """The member has an account."""


class MemberPage(Data):
    """A part of the list of members."""

    items: list[MemberOut]
    count: int


class StudentIn(Data):
    """A student of the class list; empty values keep those of an existing student."""

    student: Annotated[Text, Field(min_length=1, max_length=128)]
    first_name: Annotated[Text, Field(max_length=150)] = ""
    last_name: Annotated[Text, Field(max_length=150)] = ""
    email: Annotated[Text, Field(max_length=254)] = ""


class StudentsIn(Data):
    """Students to add or update."""

    students: Annotated[list[StudentIn], Field(min_length=1, max_length=MOST_STUDENTS)]


class ImportedOut(Data):
    """How many students were added or updated."""

    count: int


class PeopleChoice(Data):
    """Which persons are requested."""

    search: Annotated[Text, Field(min_length=1, max_length=150)]


class PersonOut(Data):
    """A person: an account, or a member without one."""

    kind: Kind
    number: int
    name: str
    courses: list[str]


class ErasedOut(Data):
    """An erasure."""

    pseudonym: str
    """What the audit log has in the place of the person's names."""
