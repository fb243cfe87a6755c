"""Where a class is kept: students, results, automatic marks, and what people gave. One protocol.

The use cases in `autograder.app` and `autograder.grading.batch` know nothing else of a gradebook. nbgrader's,
with our own tables beside it, is `autograder.gradebook`; `autograder.store.memory` is for tests and trial
runs. The contract suite in `tests/store` tests each of them. A result is kept as bytes that `bounded` makes
and `decode` reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol, Self

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from autograder.grades import CellName, PersonMark
from autograder.records import (
    Deduction,
    ExecutedNotebook,
    Graded,
    ItemResult,
    Note,
    Score,
    Spent,
    StudentGroup,
)
from autograder.rubric import Rubric

AnswerName = tuple[str, str, str]
"""Student, notebook, cell."""
_MOST_NOTES = 500
_MOST_WORDS = 4_000
"""Characters of one text of a result, where all of them are too many."""


class Student(Struct, frozen=True):
    """One line of a class list; only the id is certain."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""


class Key(Struct, frozen=True):
    """All that a result depends on. So grading the same thing again finds it instead of repeating it."""

    student: str
    assignment: str
    submission: str
    """Digest of the bytes handed in (`Graded.digest`)."""
    rubric_version: int
    rubric: str
    """Digest of the rubric's file (`Rubric.digest`)."""
    environment: str
    """Digest of what computed it (`Assignment.digest`), and of the level of isolation."""

    @classmethod
    def of(cls, student: str, submission: str, rubric: Rubric, environment: str) -> Key:
        """The key of one submission under one rubric."""
        return cls(student, rubric.assignment.name, submission, rubric.version, rubric.digest, environment)


class GradedEntry(Struct, frozen=True):
    """One result as it is to be kept."""

    key: Key
    graded: Graded
    rubric: Rubric
    """What the student was asked by; of a variant, the personal one."""
    submitted_at: datetime | None = None
    """When it was handed in; a time without zone is taken as UTC, an unknown one changes nothing."""


class Decision(Struct, frozen=True):
    """What all answers of one group get."""

    cell: str
    group: str
    points: Decimal
    comment: str = ""


class EnteredMarks(Struct, frozen=True):
    """What became of decisions."""

    written: int
    """Marks that are new or different."""
    kept: tuple[AnswerName, ...]
    """Where somebody gave another mark themselves, which stays."""


class Settled(Struct, frozen=True):
    """What a decision makes of a mark."""

    mark: PersonMark
    written: bool = False
    """The mark is new or different, and comes from the decision: a later one changes it."""
    kept: bool = False
    """Somebody gave another mark themselves, which stays as it is, its comment too."""


def settle(mark: PersonMark, decision: Decision, decided: Decimal | None) -> Settled:
    """Enter a decision where a mark stands, or none: the rule of `Store.decide`, the same for every store.

    Args:
        mark: as it stands.
        decision: about all equal answers.
        decided: the points that came here from a decision last; None: none did.
    """
    comment = mark.comment or decision.comment
    if mark.points not in (None, decision.points, decided):
        return Settled(mark, kept=True)
    # Somebody gave the same themselves: it stays theirs.
    if mark.points is not None and mark.points != decided:
        return Settled(replace(mark, comment=comment))
    written = mark.points != decision.points or mark.again
    items = mark.items if mark.points == decision.points else {}  # no longer what the mark is made of
    settled = replace(mark, points=decision.points, again=False, comment=comment, items=items)
    return Settled(settled, written=written)


class FrontEnd(Struct, frozen=True):
    """Where people see the class and give marks, for sentences to staff."""

    marking: str
    """Its name: "somebody gave another mark in …"."""
    lists: str
    """What lists everybody who was ever graded: "… still list …"."""
    remove: str
    """How somebody is taken out there."""


class Store(Protocol):
    """What is kept of a course. Safe to use from several threads once the assignment is prepared.

    Every method is whole or not at all, and raises GradebookError where the store refused; nothing was
    changed then. Times are kept in UTC. A person's mark is written by `give` and `decide` alone, and never
    removed.
    """

    @property
    def front_end(self) -> FrontEnd:
        """Where its users give marks."""

    def __enter__(self) -> Self:
        """The store itself."""

    def __exit__(self, *_: object) -> None:
        """Give back what it holds open. Idempotent."""

    def prepare(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """Make the assignment and its cells as rubric and release have them. Idempotent.

        After a change of the rubric, points are brought up to date, submissions that are known get the new
        cells, and cells that are gone go with their automatic marks.

        Args:
            rubric: the common one; gives the points of each cell (`Question.cells`).
            releases: name without ending → bytes of the released notebook.

        Raises:
            GradebookError: a cell is missing in the release, or one that is gone carries a mark or comment
                of a person.
        """

    def enrol(self, students: Iterable[Student]) -> None:
        """Enter students, or bring names and e-mail up to date; an empty field changes nothing.

        Raises:
            GradebookError: the store refused.
        """

    def begin(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """Note the start of a run and return its number.

        Raises:
            GradebookError: the store refused.
        """

    def finish(self, run: int) -> None:
        """Note the end of a run; one without an end was interrupted. A run that is not known changes nothing.

        Raises:
            GradebookError: the store refused.
        """

    def find(self, key: Key) -> Graded | None:
        """The result recorded under just this key; None where there is none, or it is not whole any more.

        The latest results of a student, and the one that counts, are whole; older ones may be marks alone.

        Raises:
            GradebookError: the store refused.
        """

    def record(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """Keep results, write their automatic marks, and let each be the one that counts; all or none.

        Recording the same again changes nothing. A cell waits for a person while one of its items does. A
        person's mark stays; it is to be looked at again when the submission or the automatic mark under it
        changed. Lone surrogates in texts become U+FFFD, and a result beyond `Budgets.stored_mb` loses its
        notebooks.

        Args:
            entries: of different students; their assignment was prepared by this very store.
            run: that computed them; None: they were known.
            language: of comments, where the store shows some; default: the assignment's first.

        Returns:
            What beside the marks could not be kept, for staff, by student; the marks stand.

        Raises:
            GradebookError: the assignment was not prepared, or the store refused.
        """

    def results(self, assignment: str, rubric: str = "", *, whole: bool = True) -> dict[str, Graded]:
        """The result that counts of every student, by student in order: the one recorded last.

        Args:
            assignment: its name.
            rubric: only results by the rubric with this digest; default: by any.
            whole: with all that notebooks and files hold; False: as `Outlines` makes them, which takes little
                memory.

        Raises:
            GradebookError: the store refused.
        """

    def standing(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """The students of whom recording the same once more would change nothing, as far as that is known.

        Args:
            entries: as in `record`; of results an outline is enough.
            language: as in `record`.

        Raises:
            GradebookError: the store refused.
        """

    def keys(self, assignment: str) -> dict[str, Key]:
        """What the result that counts depends on, by student.

        Raises:
            GradebookError: the store refused.
        """

    def listed(self, assignment: str) -> frozenset[str]:
        """The students of whom people see a submission, where they give marks.

        Raises:
            GradebookError: the store refused.
        """

    def marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """What people gave, by student and cell; only cells that a person touched.

        Raises:
            GradebookError: the store refused.
        """

    def decided(self, assignment: str) -> dict[AnswerName, Decimal]:
        """The points that came to an answer from a decision last; a later decision may change these alone.

        Raises:
            GradebookError: the store refused.
        """

    def give(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """Enter what a person gave one cell; it stands until a person changes it.

        Args:
            assignment: its name.
            student: whose cell.
            cell: its notebook and name.
            mark: all that the person gave; its items are of what the result that counts says they are worth.
            decided: what `decided` shall say of it, where a mark is moved from another store.

        Raises:
            GradebookError: the student has no result, there is no such cell, or the store refused.
        """

    def decide(self, assignment: str, given: Mapping[AnswerName, Decision]) -> EnteredMarks:
        """Enter decisions about equal answers as people's marks; answers that it does not know are left out.

        What somebody gave themselves stays, mark and comment. What came from a decision follows it.

        Raises:
            GradebookError: the store refused.
        """

    def deduct(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """Show people what is taken off for being late, where they see sums: in nbgrader and its exports.

        It follows from the time of handing in and the marks (`grades.Standing.late`), so nothing is read
        back, and no mark is touched.

        Args:
            assignment: its name.
            taken: points by student, from zero on; whoever is not in it keeps what is shown.

        Raises:
            GradebookError: the store refused.
        """

    def restore(
        self,
        results: Mapping[str, Graded],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """Put automatic marks back that something else has written over. People's marks stay as they are.

        Args:
            results: what counts, by student, of one assignment and one rubric (`results`).
            rubrics: what each of them was asked by.
            releases: as in `prepare`.
            language: as in `record`.

        Returns:
            What was found, and what to do about it: sentences for staff.

        Raises:
            GradebookError: the store refused.
        """


def bounded(graded: Graded, mb: int) -> bytes:
    """A result as JSON of a bounded size: the marks are whole, what is too much is left out.

    An honest result is never that large, and notebooks are cut before (`autograder.grading.storage_limit`).
    """
    stored = encode(graded)
    if len(stored) <= mb << 20:
        return stored
    score = graded.score
    notes = [_short(note) for note in score.notes[:_MOST_NOTES]]
    notes.append(Note("result-cut", f"the result was larger than {mb} MB; notebooks and long texts are gone"))
    items = tuple(_short(item) for item in score.items)
    score = replace(score, notes=tuple(notes), items=items)
    return encode(replace(graded, score=score, notebooks=(), files=()))


def encode(graded: Graded) -> bytes:
    """A result as JSON; exact, but for lone surrogates, which UTF-8 cannot carry."""
    try:
        return msgspec.json.encode(graded)
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(msgspec.to_builtins(graded)))


def decode(stored: bytes) -> Graded | None:
    """The result that `encode` wrote, or None when the bytes are of another version."""
    try:
        return msgspec.json.decode(stored, type=Graded)
    except msgspec.MsgspecError:
        return None


class _OutlinedScore(Struct):
    """`Score`, with items that are not decoded yet."""

    student: str
    assignment: str
    rubric_version: int
    items: tuple[msgspec.Raw, ...]
    notes: tuple[Note, ...] = ()
    isolation: str = "namespaces"
    deduction: Deduction | None = None
    group: StudentGroup | None = None
    by: str = ""


class _OutlinedNotebook(Struct, frozen=True):
    name: str


class _Outlined(Struct):
    """What an outline takes of `Graded`; the rest is skipped."""

    score: _OutlinedScore
    notebooks: tuple[_OutlinedNotebook, ...] = ()
    digest: str = ""
    seconds: float = 0.0
    sandbox_seconds: float = 0.0
    spent: Spent = Spent()
    stated: Mapping[str, str] = {}
    timeouts: Mapping[str, int] = {}


_OUTLINED = msgspec.json.Decoder(_Outlined)
_ITEM = msgspec.json.Decoder(ItemResult)


class Outlines:
    """Makes outlines of results: no file, and of each notebook the name alone.

    Most of a class answers alike, so parts that are equal are one object: ten thousand outlines take little
    more memory than ten.
    """

    def __init__(self) -> None:
        self._items: dict[bytes, ItemResult] = {}
        self._lists: dict[tuple[int, ...], tuple[ItemResult, ...]] = {}
        self._notebooks: dict[tuple[_OutlinedNotebook, ...], tuple[ExecutedNotebook, ...]] = {}

    def of(self, graded: Graded) -> Graded:
        """The outline of a result; lone surrogates in it become U+FFFD."""
        named = tuple(ExecutedNotebook(one.name, (), ()) for one in graded.notebooks)
        outline = replace(graded, notebooks=named, files=())
        return self.read(encode(outline)) or outline

    def read(self, stored: bytes) -> Graded | None:
        """The outline of a result that `encode` wrote, or None when the bytes are of another version."""
        try:
            found = _OUTLINED.decode(stored)
            items = [self._item(bytes(one)) for one in found.score.items]
        except msgspec.MsgspecError:
            return None
        every = self._lists.setdefault(tuple(map(id, items)), tuple(items))
        notebooks = self._notebooks.get(found.notebooks)
        if notebooks is None:
            notebooks = tuple(ExecutedNotebook(one.name, (), ()) for one in found.notebooks)
            self._notebooks[found.notebooks] = notebooks
        score = Score(**{**asdict(found.score), "items": every})
        return Graded(**{**asdict(found), "score": score, "notebooks": notebooks})

    def _item(self, stored: bytes) -> ItemResult:
        found = self._items.get(stored)
        if found is None:
            found = self._items[stored] = _ITEM.decode(stored)
        return found


def _short(record: Any) -> Any:
    """The record with its longest texts cut."""
    return msgspec.convert(_cut(msgspec.to_builtins(record)), type(record))


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        return value[:_MOST_WORDS]
    if isinstance(value, list | tuple):
        return [_cut(entry) for entry in value]
    return {name: _cut(entry) for name, entry in value.items()} if isinstance(value, dict) else value


def _whole(value: Any) -> Any:
    """The same plain data with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_whole(entry) for entry in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(entry) for name, entry in value.items()}
    return value
