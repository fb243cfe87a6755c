"""Storage of a class: students, results, automatic marks, and marks entered by people. One protocol.

The use cases in `autograder.app` and `autograder.grading.batch` reach a gradebook only through this protocol.
`autograder.store.gradebook` implements it on nbgrader's database, with extra tables of our own;
`autograder.store.memory` is for tests and trial runs. The contract suite in `tests/store` runs against every
implementation. A result is stored as the bytes that `encode_bounded` returns and `decode_result` reads.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol, Self

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from autograder.core.errors import CourseError, GradebookError
from autograder.core.records import (
    Cell,
    CellOutput,
    CellRun,
    Deduction,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Markdown,
    Note,
    PastedPicture,
    ResourceUsage,
    Score,
    StudentGroup,
)
from autograder.grading.grades import CellName, PersonMark
from autograder.notebook.release import load_release
from autograder.rubric import Rubric

AnswerName = tuple[str, str, str]
"""Student id, notebook name, cell name."""
_MOST_NOTES = 500
_MOST_WORDS = 4_000
"""Maximum number of characters of one text in a result that exceeds the size limit."""


class Student(Struct, frozen=True):
    """One row of a class list; only the id is guaranteed to be present."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""


class ResultKey(Struct, frozen=True):
    """Everything a result depends on; identical work is looked up by it instead of graded again."""

    student: str
    assignment: str
    submission: str
    """Digest of the submitted bytes (`GradingResult.digest`)."""
    rubric_version: int
    rubric: str
    """Digest of the rubric file (`Rubric.digest`)."""
    environment: str
    """Digest of the code and data that computed the result, and of the isolation level."""

    @classmethod
    def from_submission(cls, student: str, submission: str, rubric: Rubric, environment: str) -> ResultKey:
        """Build the key of one submission under one rubric."""
        return cls(student, rubric.assignment.name, submission, rubric.version, rubric.digest, environment)


class GradedEntry(Struct, frozen=True):
    """One result to be stored."""

    key: ResultKey
    graded: GradingResult
    rubric: Rubric
    """The rubric the student was graded by; for a variant, the personal one."""
    submitted_at: datetime | None = None
    """Submission time. A time without a zone is taken as UTC; None leaves the stored time unchanged."""


def collect_graded_cells(rubric: Rubric, releases: Mapping[str, bytes]) -> frozenset[CellName]:
    """Return the cells that carry points by the rubric.

    Raises:
        GradebookError: a notebook is not released, or has no such cell that is marked as graded.
    """
    wanted = frozenset(
        (question.notebook, cell) for question in rubric.questions for cell in question.list_cells()
    )
    for notebook in rubric.assignment.notebooks:
        try:
            released = load_release(releases[notebook.name], notebook.name).by_id
        except (KeyError, CourseError) as error:
            raise GradebookError(f"notebook {notebook.name!r} is not released: {error}") from error
        for notebook_name, cell in sorted(wanted):
            if notebook_name == notebook.name and not (cell in released and released[cell].grade):
                raise GradebookError(f"notebook {notebook_name!r} has no cell {cell!r} marked as graded")
    return wanted


class FrontEnd(Struct, frozen=True):
    """Names of the place where people see the class and enter marks, for messages to staff."""

    marking: str
    """Its name, as in "somebody gave another mark in …"."""
    lists: str
    """The lists that still show everyone who was ever graded, as in "… still list …"."""
    remove: str
    """Instructions for removing a student there."""


class Store(Protocol):
    """The stored state of one course. Thread-safe once the assignment is prepared.

    Every method is atomic: it raises GradebookError if the store refuses, and then nothing has changed. Times
    are stored in UTC. Marks entered by people are written only by `give_mark`, and never removed.
    """

    @property
    def front_end(self) -> FrontEnd:
        """Names of the place where people enter marks."""

    def __enter__(self) -> Self:
        """Return the store itself."""

    def __exit__(self, *_: object) -> None:
        """Release the resources that the store holds open. Idempotent."""

    def prepare_assignment(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """Create or update the assignment and its cells from the rubric and the release. Idempotent.

        If the rubric has changed, points are updated, existing submissions get the new cells, and obsolete
        cells are deleted together with their automatic marks.

        Args:
            rubric: the common rubric; it gives the points of each cell (`Question.list_cells`).
            releases: notebook name without suffix → bytes of the released notebook.

        Raises:
            GradebookError: a cell is missing in the release, or an obsolete cell has a mark or comment that a
                person entered.
        """

    def enroll_students(self, students: Iterable[Student]) -> None:
        """Add students, or update their names and e-mail addresses; an empty field changes nothing."""

    def start_run(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """Record the start of a grading run and return its number."""

    def finish_run(self, run: int) -> None:
        """Record the end of a run; a run without an end was interrupted. An unknown run is ignored."""

    def find_result(self, key: ResultKey) -> GradingResult | None:
        """Return the result stored under exactly this key; None if there is none or it is no longer whole.

        A student's latest results, and the current one, are stored whole; older ones may be reduced to marks.
        """

    def record_results(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """Store results, write their automatic marks, and make each the current result; all or none.

        Recording the same result again changes nothing. A cell waits for manual review as long as one of its
        items does. Marks entered by people stay; they are flagged for another look if the submission or the
        automatic mark below them changed. Lone surrogates in texts become U+FFFD, and a result larger than
        `Budgets.stored_mb` loses its notebooks.

        Args:
            entries: results of different students, of assignments that were prepared by this store object.
            run: the run that computed them; None: they were already known.
            language: language of comments, if the store shows any; default: the assignment's first.

        Returns:
            Messages for staff, by student, about anything except the marks that could not be stored. The
            marks are stored in any case.

        Raises:
            GradebookError: the assignment was not prepared, or the store refused.
        """

    def load_results(
        self, assignment: str, rubric: str = "", *, whole: bool = True
    ) -> dict[str, GradingResult]:
        """Return every student's current result, the one recorded last, sorted by student.

        Args:
            assignment: its name.
            rubric: only results graded by the rubric with this digest; default: any rubric.
            whole: include the contents of notebooks and files; False: return the outlines that
                `OutlineReader` makes, which need little memory.
        """

    def find_unchanged_students(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """Return the students for whom recording the same result again is known to change nothing.

        Args:
            entries: as in `record_results`; outlines of results are sufficient.
            language: as in `record_results`.
        """

    def load_keys(self, assignment: str) -> dict[str, ResultKey]:
        """Return the key of each student's current result."""

    def list_students(self, assignment: str) -> frozenset[str]:
        """Return the students with a submission that is visible where people enter marks."""

    def load_marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """Return the marks that people entered, by student and cell; untouched cells are left out."""

    def load_decided_points(self, assignment: str) -> dict[AnswerName, Decimal]:
        """Return the points that were copied from the mark of another group member, by answer."""

    def give_mark(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """Enter a person's mark for one cell; it stays until a person changes it.

        Args:
            assignment: its name.
            student: the student's id.
            cell: notebook and name of the cell.
            mark: everything the person entered; item points are relative to the item's worth in the current
                result.
            decided: the value that `load_decided_points` shall return for it, if the mark is copied from
                another group member.

        Raises:
            GradebookError: the student has no result, there is no such cell, or the store refused.
        """

    def record_deductions(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """Publish late penalties where people see totals: in nbgrader and its exports.

        A penalty follows from the submission time and the marks (`grades.Standing.late`), so it is never read
        back, and no mark changes.

        Args:
            assignment: its name.
            taken: deducted points by student, zero or more; other students keep the value shown.
        """

    def restore_marks(
        self,
        results: Mapping[str, GradingResult],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """Restore automatic marks that another program has overwritten; people's marks stay as they are.

        Args:
            results: current results of one assignment and one rubric, by student (`load_results`).
            rubrics: each student's rubric.
            releases: as in `prepare_assignment`.
            language: as in `record_results`.

        Returns:
            Messages for staff: the problems found, and how to fix them.
        """


def encode_bounded(graded: GradingResult, mb: int) -> bytes:
    """Encode a result as JSON of limited size: marks are kept, notebooks and long texts are cut if necessary.

    Genuine results never reach the limit, and notebooks are cut earlier (`fit_to_budget`).

    Args:
        graded: the result.
        mb: the limit, in MiB.
    """
    stored = encode_result(graded)
    if len(stored) <= mb << 20:
        return stored
    score = graded.score
    notes = [_cut_texts(note) for note in score.notes[:_MOST_NOTES]]
    notes.append(Note("result-cut", f"the result was larger than {mb} MB; notebooks and long texts are gone"))
    # Marks are in the items, so no item is dropped; only their texts are cut.
    items = tuple(_cut_texts(item) for item in score.items)
    score = replace(score, notes=tuple(notes), items=items)
    return encode_result(replace(graded, score=score, notebooks=(), files=()))


def encode_result(graded: GradingResult) -> bytes:
    """Encode a result as JSON; lossless except for lone surrogates, which UTF-8 cannot represent."""
    try:
        return msgspec.json.encode(graded)
    except UnicodeEncodeError:
        # Student code can print lone surrogates; the slow path runs only then.
        return msgspec.json.encode(_replace_surrogates(msgspec.to_builtins(graded)))


def decode_result(stored: bytes) -> GradingResult | None:
    """Decode a result that `encode_result` wrote, or return None if another version wrote the bytes."""
    try:
        return msgspec.json.decode(stored, type=GradingResult)
    except msgspec.MsgspecError:
        return None


class _ScoreOutline(Struct):
    """`Score` with items that are not decoded yet."""

    student: str
    assignment: str
    rubric_version: int
    items: tuple[msgspec.Raw, ...]
    notes: tuple[Note, ...] = ()
    isolation: str = "namespaces"
    deduction: Deduction | None = None
    group: StudentGroup | None = None
    by: str = ""


class _NotebookOutline(Struct, frozen=True):
    name: str


class _ResultOutline(Struct):
    """The fields of `GradingResult` that an outline needs; all other fields are skipped."""

    score: _ScoreOutline
    notebooks: tuple[_NotebookOutline, ...] = ()
    digest: str = ""
    seconds: float = 0.0
    sandbox_seconds: float = 0.0
    spent: ResourceUsage = ResourceUsage()
    stated: Mapping[str, str] = {}
    timeouts: Mapping[str, int] = {}


_OUTLINED = msgspec.json.Decoder(_ResultOutline)
_ITEM = msgspec.json.Decoder(ItemResult)


class OutlineReader:
    """Makes outlines of results: no files, and only the name of each notebook.

    Most students of a class have equal items, and equal parts share one object: ten thousand outlines need
    little more memory than ten.
    """

    def __init__(self) -> None:
        self._items: dict[bytes, ItemResult] = {}
        self._lists: dict[tuple[int, ...], tuple[ItemResult, ...]] = {}
        self._notebooks: dict[tuple[_NotebookOutline, ...], tuple[ExecutedNotebook, ...]] = {}

    def make_outline(self, graded: GradingResult) -> GradingResult:
        """Return the outline of a result; lone surrogates in it become U+FFFD."""
        named = tuple(ExecutedNotebook(notebook.name, (), ()) for notebook in graded.notebooks)
        outline = replace(graded, notebooks=named, files=())
        return self.read_outline(encode_result(outline)) or outline

    def read_outline(self, stored: bytes) -> GradingResult | None:
        """Return the outline of an encoded result, or None if another version wrote the bytes."""
        try:
            outline = _OUTLINED.decode(stored)
            items = [self._decode_item(bytes(item)) for item in outline.score.items]
        except msgspec.MsgspecError:
            return None
        # Items are interned in `_items`, which keeps them alive, so their ids identify equal lists.
        every = self._lists.setdefault(tuple(map(id, items)), tuple(items))
        notebooks = self._notebooks.get(outline.notebooks)
        if notebooks is None:
            notebooks = tuple(ExecutedNotebook(item.name, (), ()) for item in outline.notebooks)
            self._notebooks[outline.notebooks] = notebooks
        # The outline classes have the field names of `Score` and `GradingResult`, so these pass on by name.
        score = Score(**{**asdict(outline.score), "items": every})
        return GradingResult(**{**asdict(outline), "score": score, "notebooks": notebooks})

    def _decode_item(self, stored: bytes) -> ItemResult:
        item = self._items.get(stored)
        if item is None:
            item = self._items[stored] = _ITEM.decode(stored)
        return item


def _cut_texts(record: Any) -> Any:
    """Return the record with its longest texts cut."""
    return msgspec.convert(_cut_value(msgspec.to_builtins(record)), type(record))


def _cut_value(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MOST_WORDS]
    if isinstance(value, list | tuple):
        return [_cut_value(entry) for entry in value]
    return {name: _cut_value(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def _replace_surrogates(value: Any) -> Any:
    """Return the same plain data with every lone surrogate replaced."""
    if isinstance(value, str):
        # Through UTF-16, surrogates that form a pair become one character; only unpaired ones are replaced.
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_replace_surrogates(entry) for entry in value]
    if isinstance(value, dict):
        return {_replace_surrogates(name): _replace_surrogates(entry) for name, entry in value.items()}
    return value


_OF_OUTPUT = 100
"""Bytes that an output or a picture takes in addition to its texts."""


def fit_to_budget(notebook: ExecutedNotebook, answers: Collection[str], kb: int) -> ExecutedNotebook:
    """Return the notebook cut to its budget; cells with a cut text or missing output are flagged.

    Args:
        notebook: as it was run.
        answers: the ``grade_id`` of cells that hold answers.
        kb: maximum size of the student's texts and outputs as stored.
    """
    budget = kb << 10
    cells: dict[int, Cell | Markdown] = {}
    of_answers = {
        position
        for name in answers
        for position in (*notebook.find_positions(name), *notebook.further.get(name, ()))
    }
    # Answers first (the sort is stable), so that other cells cannot use up their budget.
    order = sorted(range(len(notebook.cells)), key=lambda index: index not in of_answers)
    for index in order:
        cell = notebook.cells[index]
        if isinstance(cell, Cell) and cell.locked:
            cells[index] = cell
            continue
        source, budget = _cut_text(cell.source, budget)
        cells[index] = cell if source == cell.source else replace(cell, source=source, cut=True)
    for index in order:
        cell = cells[index]
        if isinstance(cell, Markdown) and cell.pictures:
            pictures, budget = _keep_pictures(cell.pictures, budget)
            cells[index] = replace(cell, pictures=pictures)
    runs = []
    for run in notebook.runs:
        shown, budget = _keep_outputs(run, budget) if run is not None else (None, budget)
        runs.append(shown)
    return replace(notebook, cells=tuple(cells[index] for index in range(len(cells))), runs=tuple(runs))


def _cut_text(text: str, budget: int) -> tuple[str, int]:
    """Return the part of a text that fits, and the remaining budget."""
    size = count_stored_bytes((text,))
    if size > budget:
        # JSON takes six bytes per character at most (\u0000), and two for quotes.
        text = text[: max(0, budget - 2) // 6]
        size = budget
    return text, budget - size


def _keep_pictures(pictures: Iterable[PastedPicture], budget: int) -> tuple[tuple[PastedPicture, ...], int]:
    kept: list[PastedPicture] = []
    for picture in pictures:
        for kept_picture in (picture, replace(picture, data="")):  # the name shows that it was submitted
            size = _OF_OUTPUT + count_stored_bytes((kept_picture.name, kept_picture.mime, kept_picture.data))
            if size <= budget:
                kept.append(kept_picture)
                budget -= size
                break
    return tuple(kept), budget


def count_pictures(notebook: ExecutedNotebook) -> int:
    """Return how many pictures the texts of a notebook contain; a name without data does not count."""
    texts = (cell for cell in notebook.cells if isinstance(cell, Markdown))
    return sum(bool(picture.data) for cell in texts for picture in cell.pictures)


def _keep_outputs(run: CellRun, budget: int) -> tuple[CellRun, int]:
    kept: list[CellOutput] = []
    for output in run.outputs:
        size = _OF_OUTPUT + count_stored_bytes((*output.data, *output.data.values()))
        if size <= budget:
            kept.append(output)
            budget -= size
    if len(kept) == len(run.outputs):
        return run, budget
    return replace(run, outputs=tuple(kept), truncated=True), budget


def count_stored_bytes(texts: Iterable[str]) -> int:
    """Return the stored size of texts in bytes; an upper bound for texts that UTF-8 cannot encode."""
    size = 0
    for text in texts:
        try:
            size += len(msgspec.json.encode(text))
        except UnicodeEncodeError:
            size += 6 * len(text)
    return size
