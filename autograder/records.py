"""Frozen records of every fact that travels between the parts. Imports nothing of ours but `wording`.

Values that cross the sandbox's wire are plain Python (None, bool, int, float, str, list, tuple, dict),
numpy arrays, and the three records `Tensor`, `Ref` and `Opaque` below. Points are exact decimals.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from autograder.wording import Phrase

Text = Mapping[str, str]
"""One sentence in several languages: language code → text."""


class Message(Struct, frozen=True):
    """A sentence for a student: either a code of the closed vocabulary, or a text of the rubric."""

    code: str
    params: Mapping[str, Phrase] = {}
    text: dict[str, str] = {}


class Note(Struct, frozen=True):
    """A remark for staff, in English; never shown to students."""

    code: str
    text: str
    place: str = ""
    """A grade_id, question id or cell number, when there is one."""


class Cell(Struct, frozen=True, tag=True):
    """One code cell of the program that is run for a submission."""

    source: str
    grade_id: str = ""
    """Empty for the student's own additional cells."""
    locked: bool = False
    """True when the source was taken from the release."""
    cut: bool = False
    """Only the beginning of the source is kept; it was run as a whole."""


class PastedPicture(Struct, frozen=True):
    """A picture in a student's text, as it was handed in: nothing has looked at the bytes."""

    name: str
    """The text shows it as ``attachment:<name>``."""
    mime: str
    data: str
    """In base64."""


class Markdown(Struct, frozen=True, tag=True):
    """A cell that is shown in the executed notebook but not run."""

    source: str
    grade_id: str = ""
    cut: bool = False
    """Only the beginning of the source is kept."""
    pictures: tuple[PastedPicture, ...] = ()
    """What a student attached or pasted; of given texts there are none."""


class Answer(Struct, frozen=True):
    """What a student wrote into one answer cell."""

    grade_id: str
    cell_type: str
    """``"code"`` or ``"markdown"``."""
    source: str
    changed: bool
    """False when the cell still holds the release's stub: not answered."""


class CellRemark(Struct, frozen=True):
    """What a student is told about one cell of the notebook, such as how a copied cell was read."""

    position: int
    """Of the cell, counted from 0."""
    message: Message


class Submission(Struct, frozen=True):
    """One notebook of one student, made safe: locked cells are the release's own."""

    student: str
    assignment: str
    notebook: str
    """The notebook's name without its ending."""
    digest: str
    """SHA-256 of the bytes handed in, in hexadecimal."""
    cells: tuple[Cell | Markdown, ...]
    """In order; the code cells among them are run."""
    answers: dict[str, Answer]
    """By grade_id of the answer cell; an entry for every solution cell of the release."""
    notes: tuple[Note, ...] = ()
    answer_cells: Mapping[str, tuple[int, ...]] = {}
    """Answers that do not stand in their own cell alone: grade_id → positions of their cells in ``cells``."""
    remarks: tuple[CellRemark, ...] = ()
    further: Mapping[str, tuple[int, ...]] = {}
    """Written answers → positions of texts that belong to no answer; markers see them below these answers."""


# ---------------------------------------------------------------- the sandbox


class Tensor(Struct, frozen=True, eq=False):
    """A torch tensor outside the sandbox: its numbers and what numpy cannot say.

    ``array`` has the tensor's shape; bfloat16 arrives widened to float32, with ``dtype="bfloat16"``.
    """

    array: np.ndarray
    dtype: str
    """torch's name without the prefix, e.g. ``"float32"``."""
    device: str = "cpu"
    requires_grad: bool = False


class Ref(Struct, frozen=True):
    """A handle on an object that stays inside the box."""

    name: str
    kind: str = ""
    """What the box says of it to a test: how it is found again in a library, or the handle of its class."""


class Structured(Struct, frozen=True, eq=False):
    """A value of a known type in plain parts, such as a set or a frame; only boxes build it from them."""

    type_name: str
    parts: Any


class Opaque(Struct, frozen=True):
    """An object that has no plain form. Only its type's name and a capped text are known.

    ``text`` is ``str(object)`` for sympy expressions, and empty for everything else.
    """

    type_name: str
    text: str = ""


class Call(Struct, frozen=True, eq=False):
    """One question to a box: call a function of the notebook by name, or read a variable.

    Arrays among the arguments arrive as they are sent: `Tensor` as torch tensors, ``numpy.ndarray`` as numpy
    arrays.
    """

    target: str
    """A name in the notebook's namespace."""
    args: tuple[Any, ...] = ()
    read: bool = False
    """Read the variable instead of calling it; args are ignored."""


class Ending(enum.StrEnum):
    """Why a box ended before we closed it."""

    EXITED = "exited"
    CRASHED = "crashed"
    CELL_TIME = "cell-time"
    CALL_TIME = "call-time"
    SUBMISSION_TIME = "submission-time"
    PROCESSOR_TIME = "processor-time"
    MEMORY = "memory"
    OUTPUT = "output"
    REPLY_SIZE = "reply-size"
    QUESTION_SIZE = "question-size"
    """The answers to one question together took all the memory that the grader has for them."""
    ANSWERS_SIZE = "answers-size"
    """All answers of the submission together took more than the grader reads."""
    PROTOCOL = "protocol"
    NOT_ASKED = "not-asked"
    """The question's calls had ended too many boxes before this one."""
    RESTARTS = "restarts"
    """No box was opened any more: too many had been ended before."""


class LimitKind(enum.StrEnum):
    """A limit that student code met without ending its box."""

    MEMORY = "memory"
    PROCESSES = "processes"
    OUTPUT = "output"
    DISK = "disk"
    FILES = "files"
    DESCRIPTORS = "descriptors"
    REPLY_SIZE = "reply-size"
    NETWORK = "network"
    """It asked for something from a network, of which a box has none."""


class LimitEvent(Struct, frozen=True):
    """A limit that was met, and whose word that is. It chooses a wording, never a mark."""

    met: LimitKind
    seen: bool = False
    """Counted or measured outside of the box."""
    told: bool = False
    """The exception that was raised, or output that is missing, speaks of it: the box's own word."""


class Observation(Struct, frozen=True, eq=False):
    """What came of one call: a value, an exception, or the end of the box.

    Exactly one holds: ``ok``; ``error`` non-empty (an exception was raised); ``ending`` set.
    """

    ok: bool
    value: Any = None
    error: str = ""
    """The exception's type name, e.g. ``"TypeError"``."""
    message: str = ""
    """The exception's text, capped; shown to students as their own code's words."""
    ending: Ending | None = None
    met: tuple[LimitEvent, ...] = ()
    limit: str = ""
    """How much was allowed where a limit was met, e.g. ``"10 s"``; see `autograder.limits`."""


class CellOutput(Struct, frozen=True):
    """One output of an executed cell, checked and capped, still to be sanitised before display."""

    kind: str
    """``"stream"``, ``"display"``, ``"result"`` or ``"error"``."""
    data: dict[str, str]
    """MIME type → text (base64 for images). A stream or error has only ``"text/plain"``."""


class CellRun(Struct, frozen=True):
    """What came of running one cell."""

    outputs: tuple[CellOutput, ...] = ()
    error: str = ""
    """The exception's type name, empty when none was raised."""
    ending: Ending | None = None
    seconds: float = 0.0
    truncated: bool = False
    """Some output was over the cap and is not kept."""
    met: tuple[LimitEvent, ...] = ()


class CheckCall(Struct, frozen=True):
    """One call of a check that is written in Python; see `autograder.checking`."""

    digest: str
    """Of the sources of the checks, the solution and what they import."""
    program: str
    """They themselves, packed; see `autograder.checking.packing`."""
    check: str
    part: str
    seed: bytes
    """Of its hidden inputs."""
    forbidden: tuple[str, ...] = ()
    """It runs once more where functions of torch fail whose names hold one of these."""
    show_values: bool = False
    """Tell what was drawn and compared (`CellOutcome.values`)."""


class CellTest(Struct, frozen=True):
    """A test cell, or one case of a test, run while a notebook stands at its place."""

    name: str
    code: str
    doctest: bool = False
    """``code`` is an interactive session: what it prints is compared with what stands there."""
    seconds: float = 30.0
    """Of processor time, that of the student's code included."""
    shared: bool = True
    """It sees what earlier shared tests of the submission defined."""
    students: tuple[str, ...] = ()
    """Names that are the student's though Python, a library or an earlier test has them as well."""
    doubtful: str = ""
    """Why its outcome needs manual review whatever it is."""
    inside: bool = False
    """It runs in the student's own box."""
    check: CheckCall | None = None
    """Runs this instead of ``code``."""
    changed: tuple[str, ...] = ()
    """Inside: forms of the test that no right answer passes; one that passes was disarmed."""


class CellOutcome(Struct, frozen=True):
    """What came of one `CellTest`."""

    error: str = ""
    """The exception's type name; empty when none was raised."""
    message: str = ""
    """Its text, and the line of the test, for staff."""
    printed: str = ""
    value: float | str | bool | None = None
    """Of the last expression: a number or a truth value as it is, of everything else the type's name."""
    own_words: tuple[str, ...] = ()
    """Truth values that the student's classes gave, such as ``Vector.__eq__``."""
    refused: str = ""
    """Why the test cannot be judged where it was run; empty: it was."""
    ending: Ending | None = None
    """The student's box ended."""
    doubt: str = ""
    """Why a test that passed proves nothing, so that a person decides."""
    inside: bool = False
    """It ran in the student's own box."""
    raised: bool = False
    """Of a check: the student's code raised ``error``, not the check; or so a fresh box of theirs ended."""
    missing: str = ""
    """Of a check: the name that the notebook does not define, or the file that cannot be read."""
    forbidden: str = ""
    """Of a check: how it comes out otherwise where what is forbidden fails."""
    share: float = 0.0
    """Of a check: which part of its points a wrong answer still earns."""
    told: Mapping[str, str] = {}
    """Of a check: by language, what students read of a wrong answer instead of what the check states."""
    mistakes: tuple[str, ...] = ()
    """Of a check: the mutants whose values are those of the student."""
    carried: tuple[str, ...] = ()
    """Of a check: functions of the student's without which it passed."""
    values: tuple[str, ...] = ()
    """Of a check, if asked for: a line for each input drawn and each value compared."""

    @property
    def passed(self) -> bool:
        """No exception, and it ran to its end."""
        return not (self.error or self.ending or self.refused)


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """What one submission may use: defaults, and the least and most that a rubric may set instead."""

    cell_seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = 30.0
    """Of processor time, as the next two; by the clock, `autograder.limits.CLOCK_FACTOR` times as long."""
    call_seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = 10.0
    """Of each call."""
    submission_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 120.0
    """Of all boxes of one notebook."""
    processor_seconds: Annotated[int, Meta(ge=1, le=604_800)] = 120
    """Of all processes of one box together."""
    memory_mb: Annotated[int, Meta(ge=64, le=1_048_576)] = 2048
    processes: Annotated[int, Meta(ge=1, le=4096)] = 64
    """Processes and threads at the same time, the first one included."""
    output_kb: Annotated[int, Meta(ge=1, le=65_536)] = 1024
    """Kept per submission; four times as much ends the box."""
    reply_mb: Annotated[int, Meta(ge=1, le=1024)] = 64
    scratch_mb: Annotated[int, Meta(ge=1, le=65_536)] = 64
    scratch_files: Annotated[int, Meta(ge=32, le=10_000_000)] = 4096
    descriptors: Annotated[int, Meta(ge=32, le=65_536)] = 256
    restarts: Annotated[int, Meta(ge=0, le=100)] = 6
    """How often a box is opened again after student code ended it."""


# ---------------------------------------------------------------- judging


class Status(enum.StrEnum):
    """Whose fault it is."""

    PASSED = "passed"
    FAILED = "failed"
    NO_ANSWER = "no-answer"
    NEEDS_REVIEW = "needs-review"


class ItemResult(Struct, frozen=True):
    """The verdict on one rubric item.

    PASSED carries full points; FAILED may carry partial points; NO_ANSWER carries none;
    NEEDS_REVIEW carries none yet: a human decides.
    """

    question: str
    item: str
    status: Status
    points: Decimal
    possible: Decimal
    student: Message
    staff: str
    code: str = ""
    """Stable name of the named mistake or fault, for statistics."""
    reading: str = ""
    """How a formula was read, as canonical plain text of the formula; empty for other kinds."""
    chosen: tuple[str, ...] = ()
    """Ids of the options that were chosen; empty for kinds without options."""
    remark: str = ""
    """For staff, whatever the verdict: a defect that no item is about, or how the answer was taken."""


Unit = Literal["percent", "percent-of-earned", "points"]
"""Of what is taken off: percent of the possible points, percent of those that were earned, or points."""


class Deduction(Struct, frozen=True):
    """What is taken off the points of a submission for being late; `autograder.grades` computes it."""

    amount: Decimal
    unit: Unit = "percent"
    floor: Decimal = Decimal(0)
    """What is left at least, of what was earned; in the same unit."""


class StudentGroup(Struct, frozen=True):
    """Students who hand in one submission together."""

    name: str
    members: tuple[str, ...]
    """In order."""


class Score(Struct, frozen=True):
    """The marks of one submission. What gradebook and feedback are both made from."""

    student: str
    assignment: str
    rubric_version: int
    items: tuple[ItemResult, ...]
    """One for every item of the rubric, in its order."""
    notes: tuple[Note, ...] = ()
    isolation: str = "namespaces"
    deduction: Deduction | None = None
    """For being late; not among the items' points."""
    group: StudentGroup | None = None
    """Whose submission it is, where several students handed it in together."""
    by: str = ""
    """Who of the group handed it in, and was asked its questions; empty: the student."""

    @property
    def asked(self) -> str:
        """Whose questions these are, where each is asked others."""
        return self.by or self.student

    @property
    def points(self) -> Decimal:
        """Points earned so far; items that need review count as none."""
        return sum((item.points for item in self.items), Decimal(0))

    @property
    def possible(self) -> Decimal:
        """Points of all items."""
        return sum((item.possible for item in self.items), Decimal(0))

    @property
    def pending(self) -> Decimal:
        """Points that a human still decides on."""
        open_items = (item.possible for item in self.items if item.status is Status.NEEDS_REVIEW)
        return sum(open_items, Decimal(0))


class ExecutedNotebook(Struct, frozen=True):
    """The cells of one submission beside what running them gave, for the feedback page."""

    name: str
    cells: tuple[Cell | Markdown, ...]
    runs: tuple[CellRun | None, ...]
    """As long as ``cells``; None for markdown and for cells that were not run."""
    answer_cells: Mapping[str, tuple[int, ...]] = {}
    """As in `Submission`."""
    remarks: tuple[CellRemark, ...] = ()
    further: Mapping[str, tuple[int, ...]] = {}
    """As in `Submission`."""

    def positions(self, grade_id: str) -> tuple[int, ...]:
        """Return where the cells of an answer stand, or where the cell with this grade_id does."""
        if grade_id in self.answer_cells:
            return self.answer_cells[grade_id]
        return tuple(at for at, cell in enumerate(self.cells) if grade_id and cell.grade_id == grade_id)

    def text(self, grade_id: str) -> str:
        """Return what stands in the cells of an answer, in order."""
        return "\n\n".join(self.cells[position].source for position in self.positions(grade_id))

    def pictures(self, grade_id: str) -> tuple[PastedPicture, ...]:
        """Return the pictures in the texts of an answer, in order."""
        cells = (self.cells[position] for position in self.positions(grade_id))
        return tuple(picture for cell in cells if isinstance(cell, Markdown) for picture in cell.pictures)


class FileState(enum.StrEnum):
    """What became of a file that belongs to a submission."""

    HANDED_IN = "handed-in"
    UNCHANGED = "unchanged"
    """It is as it was given out."""
    MISSING = "missing"
    TOO_LARGE = "too-large"
    UNREADABLE = "unreadable"
    """A link, a folder, or not readable; the notes say which."""


class HandedFile(Struct, frozen=True):
    """A file that belongs to a submission beside its notebook, for people and pages."""

    notebook: str
    path: str
    state: FileState
    size: int = 0
    """Bytes."""
    most: int = 0
    """Bytes that it may have."""
    digest: str = ""
    """SHA-256, in hexadecimal; empty where it was not read."""
    text: str = ""
    """Its beginning, where it is text; empty where it is as it was given out."""
    difference: str = ""
    """How it differs from what was given out: the hunks of a unified diff; empty where that is not told."""
    cut: bool = False
    """The text is longer than what is kept."""
    picture: str = ""
    """A small picture's bytes as base64, still to be checked before display; empty for other files."""


class Spent(Struct, frozen=True):
    """The most that one submission used of what `Limits` bounds, by the names of the limits."""

    cell_seconds: float = 0.0
    """Of the longest cell."""
    call_seconds: float = 0.0
    """Of the longest call."""
    submission_seconds: float = 0.0
    processor_seconds: float = 0.0
    memory_mb: float = 0.0


class Graded(Struct, frozen=True):
    """Everything that grading one student's submission produced."""

    score: Score
    notebooks: tuple[ExecutedNotebook, ...] = ()
    digest: str = ""
    """SHA-256 over the digests of the notebooks and files handed in."""
    seconds: float = 0.0
    sandbox_seconds: float = 0.0
    """The part of ``seconds`` in which boxes were opened, ran and were closed."""
    spent: Spent = Spent()
    """Of the notebook that used most, for each limit."""
    stated: Mapping[str, str] = {}
    """What students wrote of themselves on the title page. It identifies nobody."""
    files: tuple[HandedFile, ...] = ()
    """The files that belong to the submission beside its notebooks."""
    timeouts: Mapping[str, int] = {}
    """Cells and calls that ran out of time, which the next run need not try again; see `sandbox.timeouts`."""
