"""Frozen records of every fact that travels between the parts. The only import of ours is `wording`.

Values that cross the sandbox's wire are plain Python (None, bool, int, float, str, list, tuple, dict), numpy
arrays, and the records `Tensor` and `OpaqueValue` below. Points are exact decimals.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct

from autograder.core.wording import Phrase

Text = Mapping[str, str]
"""One sentence in several languages: language code → text."""


class Message(Struct, frozen=True):
    """A sentence for a student: a code of the closed vocabulary, or a text of the rubric."""

    code: str
    params: Mapping[str, Phrase] = {}
    text: dict[str, str] = {}


class Note(Struct, frozen=True):
    """A remark for staff, in English; never shown to students."""

    code: str
    text: str
    place: str = ""
    """A grade_id, question id or cell number, if there is one."""


# Tagged with their class names, which stored notebooks contain: renaming Cell or Markdown breaks old data.
class Cell(Struct, frozen=True, tag=True):
    """One code cell of the program that is run for a submission."""

    source: str
    grade_id: str = ""
    """Empty for the student's own additional cells."""
    locked: bool = False
    """True if the source was taken from the release."""
    cut: bool = False
    """Only the beginning of the source is kept; the whole source was run."""


class PastedPicture(Struct, frozen=True):
    """A picture in a student's text, exactly as submitted: the bytes are not checked yet."""

    name: str
    """The text refers to it as ``attachment:<name>``."""
    mime: str
    data: str
    """Base64."""


class Markdown(Struct, frozen=True, tag=True):
    """A cell that the executed notebook shows but that is not run."""

    source: str
    grade_id: str = ""
    cut: bool = False
    """Only the beginning of the source is kept."""
    pictures: tuple[PastedPicture, ...] = ()
    """Pictures that a student attached or pasted; empty for cells of the release."""


class Answer(Struct, frozen=True):
    """The content of one answer cell as the student left it."""

    grade_id: str
    cell_type: str
    """``"code"`` or ``"markdown"``."""
    source: str
    changed: bool
    """False if the cell still holds the release's stub: not answered."""


class CellRemark(Struct, frozen=True):
    """A message to the student about one cell of the notebook, such as how a copied cell was read."""

    position: int
    """Position of the cell, from 0."""
    message: Message


class Submission(Struct, frozen=True):
    """One notebook of one student, made safe: its locked cells are those of the release."""

    student: str
    assignment: str
    notebook: str
    """The notebook's name without its ending."""
    digest: str
    """SHA-256 of the submitted bytes, in hexadecimal."""
    cells: tuple[Cell | Markdown, ...]
    """All cells in order; the code cells among them are run."""
    answers: dict[str, Answer]
    """By grade_id of the answer cell; an entry for every solution cell of the release."""
    notes: tuple[Note, ...] = ()
    answer_cells: Mapping[str, tuple[int, ...]] = {}
    """Answers that do not consist of exactly their own cell: grade_id → positions of their cells in
    ``cells``."""
    remarks: tuple[CellRemark, ...] = ()
    further: Mapping[str, tuple[int, ...]] = {}
    """Written answers → positions of texts that belong to no answer; markers see them below these answers."""


# ---------------------------------------------------------------- the sandbox


# eq=False: comparing arrays gives an array, not a truth value, so a generated __eq__ would raise.
class Tensor(Struct, frozen=True, eq=False):
    """A torch tensor outside the sandbox: its numbers and the properties that numpy has no place for.

    ``array`` has the tensor's shape; bfloat16 arrives widened to float32, with ``dtype="bfloat16"``.
    """

    array: np.ndarray
    dtype: str
    """torch's name without the prefix, e.g. ``"float32"``."""
    device: str = "cpu"
    requires_grad: bool = False


class OpaqueValue(Struct, frozen=True):
    """An object that has no plain form. Only the name of its type and a capped text are known.

    ``text`` is ``str(object)`` for sympy expressions, and empty for all other types.
    """

    type_name: str
    text: str = ""


class Call(Struct, frozen=True, eq=False):
    """One request to a box: call a function of the notebook by name, or read a variable.

    Arrays among the arguments keep their kind: `Tensor` arrives as a torch tensor, ``numpy.ndarray`` as a
    numpy array.
    """

    target: str
    """A name in the notebook's namespace."""
    args: tuple[Any, ...] = ()
    read: bool = False
    """Read the variable instead of calling it; args are ignored."""


class Ending(enum.StrEnum):
    """The reason why a box ended before we closed it."""

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
    """The answers to one question together took all the memory that the grader grants them."""
    ANSWERS_SIZE = "answers-size"
    """All answers of the submission together took more memory than the grader grants."""
    PROTOCOL = "protocol"
    NOT_ASKED = "not-asked"
    """The question's calls had ended too many boxes before this one."""
    RESTARTS = "restarts"
    """No new box was opened because too many had ended before."""


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
    """The code tried to use a network; a box has none."""


# Student code can raise MemoryError itself, so the box's own claim proves nothing.
class LimitEvent(Struct, frozen=True):
    """A limit that was met, and the source of that claim. It selects a wording, never a mark."""

    met: LimitKind
    measured: bool = False
    """Counted or measured outside of the box."""
    claimed: bool = False
    """The box claims it: a raised exception or missing output points to it."""


class Observation(Struct, frozen=True, eq=False):
    """The result of one call: a value, an exception, or the end of the box.

    Exactly one holds: ``ok``; ``error`` is not empty (an exception was raised); ``ending`` is set.
    """

    ok: bool
    value: Any = None
    error: str = ""
    """The exception's type name, e.g. ``"TypeError"``."""
    message: str = ""
    """The exception's text, capped; students see it as a message of their own code."""
    ending: Ending | None = None
    met: tuple[LimitEvent, ...] = ()
    limit: str = ""
    """The allowed amount if a limit was met, e.g. ``"10 s"``; see `autograder.core.limits`."""


class CellOutput(Struct, frozen=True):
    """One output of an executed cell, checked and capped, but not yet sanitised for display."""

    kind: str
    """``"stream"``, ``"display"``, ``"result"`` or ``"error"``."""
    data: dict[str, str]
    """MIME type → text (base64 for images). A stream or error has only ``"text/plain"``."""


class CellRun(Struct, frozen=True):
    """The result of running one cell."""

    outputs: tuple[CellOutput, ...] = ()
    error: str = ""
    """The exception's type name; empty if none was raised."""
    ending: Ending | None = None
    seconds: float = 0.0
    truncated: bool = False
    """Some output exceeded the cap and was discarded."""
    met: tuple[LimitEvent, ...] = ()


class CheckCall(Struct, frozen=True):
    """One call of a check that is written in Python; see `autograder.checking`."""

    digest: str
    """Digest of the sources of the checks, of the solution and of their imports."""
    program: str
    """The sources themselves, packed; see `autograder.checking.serialisation`."""
    check: str
    part: str
    seed: bytes
    """Seed of its hidden inputs."""
    forbidden: tuple[str, ...] = ()
    """The check runs a second time with all torch functions failing that have one of these in their name."""
    show_values: bool = False
    """Report the drawn inputs and the compared values (`CellOutcome.values`)."""


class CellTest(Struct, frozen=True):
    """A test cell, or one case of a test, that runs at its position in the notebook."""

    name: str
    code: str
    doctest: bool = False
    """``code`` is an interactive session: its output is compared with the output written in it."""
    seconds: float = 30.0
    """Processor time, that of the student's code included."""
    shared: bool = True
    """The test sees the definitions of earlier shared tests of the submission."""
    students: tuple[str, ...] = ()
    """Names that belong to the student although Python, a library or an earlier test defines them as well."""
    doubtful: str = ""
    """Why its outcome needs manual review in any case."""
    inside: bool = False
    """The test runs in the student's own box."""
    check: CheckCall | None = None
    """Runs instead of ``code``."""
    changed: tuple[str, ...] = ()
    """For tests inside the student's box: variants of the test that no correct answer passes; if one passes,
    the test was disarmed."""


class CellOutcome(Struct, frozen=True):
    """The result of one `CellTest`."""

    error: str = ""
    """The exception's type name; empty when none was raised."""
    message: str = ""
    """The exception's text and the line of the test, for staff."""
    printed: str = ""
    value: float | str | bool | None = None
    """Value of the last expression: numbers and truth values as they are, otherwise the type's name."""
    own_words: tuple[str, ...] = ()
    """Sources of truth values that classes of the student returned, such as ``Vector.__eq__``."""
    refused: str = ""
    """Why the test cannot be judged in its box; empty if it was judged."""
    ending: Ending | None = None
    """The student's box ended."""
    doubt: str = ""
    """Why a passed test proves nothing, so that it needs manual review."""
    inside: bool = False
    """The test ran in the student's own box."""
    raised: bool = False
    """For a check: the student's code raised ``error`` (not the check), or ended a fresh box of its own."""
    missing: str = ""
    """For a check: the name that the notebook does not define, or the file that cannot be read."""
    forbidden: str = ""
    """For a check: the different outcome when the forbidden functions fail."""
    share: float = 0.0
    """For a check: the share of its points that a wrong answer still earns."""
    told: Mapping[str, str] = {}
    """For a check: language → the text about a wrong answer that students read instead of the check's own."""
    mistakes: tuple[str, ...] = ()
    """For a check: the mutants that give the same values as the student's answer."""
    carried: tuple[str, ...] = ()
    """For a check: functions of the student that it passes without."""
    values: tuple[str, ...] = ()
    """For a check, if requested: a line for each input drawn and each value compared."""

    @property
    def passed(self) -> bool:
        """True if the test raised nothing and ran to its end."""
        return not (self.error or self.ending or self.refused)


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """Resources that one submission may use: defaults, and the range that a rubric may choose from."""

    # The bounds in Meta are the ranges that `core.limits.list_ranges` reports to authors of rubrics.
    cell_seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = 30.0
    """Processor time, as for the next two; the wall-clock limit is `core.limits.CLOCK_FACTOR` times as
    long."""
    call_seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = 10.0
    """For each call."""
    submission_seconds: Annotated[float, Meta(ge=1, le=604_800)] = 120.0
    """For all boxes of one notebook together."""
    processor_seconds: Annotated[int, Meta(ge=1, le=604_800)] = 120
    """For all processes of one box together."""
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
    """How often a new box is opened after student code ended the previous one."""


# ---------------------------------------------------------------- judging


# The values are stored in gradebooks and must not change.
class Status(enum.StrEnum):
    """The kind of a verdict. Only FAILED and NO_ANSWER are the student's fault."""

    PASSED = "passed"
    FAILED = "failed"
    NO_ANSWER = "no-answer"
    NEEDS_REVIEW = "needs-review"


class ItemResult(Struct, frozen=True):
    """The verdict on one rubric item.

    PASSED carries full points; FAILED may carry partial points; NO_ANSWER carries none; NEEDS_REVIEW carries
    none until the manual review.
    """

    question: str
    item: str
    status: Status
    points: Decimal
    possible: Decimal
    student: Message
    staff: str
    code: str = ""
    """Stable name of the recognised mistake or fault, for statistics."""
    reading: str = ""
    """How a formula was parsed, as canonical plain text; empty for other kinds."""
    chosen: tuple[str, ...] = ()
    """Ids of the options that were chosen; empty for kinds without options."""
    remark: str = ""
    """For staff, whatever the verdict: a defect that no item covers, or how the answer was read."""


Unit = Literal["percent", "percent-of-earned", "points"]
"""Unit of a deduction: percent of the possible points, percent of the earned points, or points."""


class Deduction(Struct, frozen=True):
    """The late penalty of one submission; `autograder.grading.grades` applies it."""

    amount: Decimal
    unit: Unit = "percent"
    floor: Decimal = Decimal(0)
    """The penalty never reduces the earned points below this; same unit."""


class StudentGroup(Struct, frozen=True):
    """Students who share one submission."""

    name: str
    members: tuple[str, ...]
    """In order."""


class Score(Struct, frozen=True):
    """The marks of one submission, from which gradebook and feedback are made."""

    student: str
    assignment: str
    rubric_version: int
    items: tuple[ItemResult, ...]
    """One result for every item of the rubric, in its order."""
    notes: tuple[Note, ...] = ()
    isolation: str = "namespaces"
    deduction: Deduction | None = None
    """Late penalty; the items' points do not include it."""
    group: StudentGroup | None = None
    """The group that shares the submission, if there is one."""
    by: str = ""
    """The member of the group who submitted and to whom its variant belongs; empty: the student."""

    @property
    def asked(self) -> str:
        """The student to whom the variant of the questions belongs, in assignments with variants."""
        return self.by or self.student

    @property
    def points(self) -> Decimal:
        """Points earned so far; items that need review count as zero."""
        return sum((item.points for item in self.items), Decimal(0))

    @property
    def possible(self) -> Decimal:
        """Points of all items."""
        return sum((item.possible for item in self.items), Decimal(0))

    @property
    def pending(self) -> Decimal:
        """Points that still need manual review."""
        open_items = (item.possible for item in self.items if item.status is Status.NEEDS_REVIEW)
        return sum(open_items, Decimal(0))


class ExecutedNotebook(Struct, frozen=True):
    """The cells of one submission together with the results of running them, for the feedback page."""

    name: str
    cells: tuple[Cell | Markdown, ...]
    runs: tuple[CellRun | None, ...]
    """As long as ``cells``; None for Markdown and for cells that were not run."""
    answer_cells: Mapping[str, tuple[int, ...]] = {}
    """As in `Submission`."""
    remarks: tuple[CellRemark, ...] = ()
    further: Mapping[str, tuple[int, ...]] = {}
    """As in `Submission`."""

    def find_positions(self, grade_id: str) -> tuple[int, ...]:
        """Return the positions of an answer's cells, or of the cells with this grade_id."""
        if grade_id in self.answer_cells:
            return self.answer_cells[grade_id]
        # The student's own cells have an empty grade_id, which must not match all of them.
        return tuple(
            position for position, cell in enumerate(self.cells) if grade_id and cell.grade_id == grade_id
        )

    def get_text(self, grade_id: str) -> str:
        """Return the text of an answer's cells, in order."""
        return "\n\n".join(self.cells[position].source for position in self.find_positions(grade_id))

    def get_pictures(self, grade_id: str) -> tuple[PastedPicture, ...]:
        """Return the pictures in an answer's Markdown cells, in order."""
        cells = (self.cells[position] for position in self.find_positions(grade_id))
        return tuple(picture for cell in cells if isinstance(cell, Markdown) for picture in cell.pictures)


class FileState(enum.StrEnum):
    """The state of a file that belongs to a submission."""

    HANDED_IN = "handed-in"
    UNCHANGED = "unchanged"
    """Identical to the file that was given out."""
    MISSING = "missing"
    TOO_LARGE = "too-large"
    UNREADABLE = "unreadable"
    """A link, a folder, or not readable; the notes say which."""


class SubmissionFile(Struct, frozen=True):
    """A file that belongs to a submission in addition to its notebook, for staff and pages."""

    notebook: str
    path: str
    state: FileState
    size: int = 0
    """Bytes."""
    most: int = 0
    """Maximum size in bytes."""
    digest: str = ""
    """SHA-256, in hexadecimal; empty if the file was not read."""
    text: str = ""
    """Its beginning, if it is text; empty if the file is unchanged."""
    difference: str = ""
    """The hunks of a unified diff from the file that was given out; empty if no diff is shown."""
    cut: bool = False
    """The text is longer than the part that is kept."""
    picture: str = ""
    """The bytes of a small picture as base64, not yet checked for display; empty for other files."""


class ResourceUsage(Struct, frozen=True):
    """The maximum that one submission used of each resource in `Limits`, under the same names."""

    cell_seconds: float = 0.0
    """The longest cell."""
    call_seconds: float = 0.0
    """The longest call."""
    submission_seconds: float = 0.0
    processor_seconds: float = 0.0
    memory_mb: float = 0.0


class GradingResult(Struct, frozen=True):
    """Everything that grading one student's submission produced."""

    score: Score
    notebooks: tuple[ExecutedNotebook, ...] = ()
    digest: str = ""
    """SHA-256 over the digests of the submitted notebooks and files."""
    seconds: float = 0.0
    sandbox_seconds: float = 0.0
    """The part of ``seconds`` in which boxes were opened, ran and were closed."""
    spent: ResourceUsage = ResourceUsage()
    """For each limit, the value of the notebook that used most."""
    stated: Mapping[str, str] = {}
    """The student's entries on the title page. They are not verified and identify no student."""
    files: tuple[SubmissionFile, ...] = ()
    """The files that belong to the submission in addition to its notebooks."""
    timeouts: Mapping[str, int] = {}
    """Cells and calls that timed out; the next run need not repeat them, see `sandbox.timeouts`."""
