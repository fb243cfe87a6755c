"""The gradebook of a course: prepared once from the release, then written student by student."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from autograder.errors import GradebookError
from autograder.gradebook import cells, decisions, ledger, marks, overwritten, people, tables
from autograder.gradebook.comments import comment_texts
from autograder.gradebook.roster import Student
from autograder.grades import CellName, PersonMark
from autograder.records import Graded, Score
from autograder.rubric import Rubric


class Gradebook:
    """A course's gradebook: a context manager, safe to use from several threads after `prepare`.

    Args:
        database: a path, or a database URL (``postgresql://…``). A new database is created.

    Raises:
        GradebookError: it cannot be opened, or its tables are of another version of nbgrader.
    """

    def __init__(self, database: Path | str) -> None:
        self._book = tables.connect(database)
        self._places: dict[str, tuple[cells.Place, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the connections. Idempotent."""
        self._book.close()

    @property
    def engine(self) -> sa.Engine:
        """The database, for the `autograder.gradebook.ledger.Ledger` beside it."""
        engine: sa.Engine = self._book.engine
        return engine

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """A transaction that `record` and `Ledger.record` can share: both are kept, or neither.

        Raises:
            GradebookError: the database refused.
        """
        with (
            tables.refusals("the gradebook could not be written"),
            ledger.transaction(self.engine) as connection,
        ):
            yield connection

    def prepare(self, rubric: Rubric, release_notebooks: Mapping[str, bytes]) -> None:
        """Make the assignment, its notebooks and their cells as the release has them.

        Idempotent. After a change of the rubric, cells and points are brought up to date, and
        submissions already recorded get rows for new cells.

        Args:
            rubric: gives the points of each grade cell (`Question.cells`).
            release_notebooks: name without ending → bytes of the released notebook.

        Raises:
            GradebookError: a grade cell is missing in the release, or a cell that is gone carries a mark
                or comment that a human gave.
        """
        name = rubric.assignment.name
        with tables.refusals(f"assignment {name!r} could not be prepared"):
            wanted = cells.wanted_cells(rubric, release_notebooks)
            cells.create(self._book, name, wanted, release_notebooks)
        with self.transaction() as connection:
            cells.remove_others(connection, name, wanted)
            places = cells.load(connection, name)
            for submission in _submissions(connection, name):
                marks.complete_rows(connection, submission, places)
        self._places[name] = places

    def enrol(self, students: Iterable[Student]) -> None:
        """Enter students, or bring their names and e-mail up to date; an empty field changes nothing.

        Raises:
            GradebookError: the database refused.
        """
        with self.transaction() as connection:
            for student in students:
                marks.enter_student(connection, student)

    def record(
        self,
        graded: Graded,
        rubric: Rubric,
        submitted_at: datetime.datetime | None = None,
        *,
        language: str = "",
        within: sa.Connection | None = None,
    ) -> None:
        """Write one student's automatic marks; recording the same again changes nothing.

        A cell needs a manual grade while one of its items needs review. A manual score stays; as in
        nbgrader, it is to be looked at again when the submission or the automatic score under it changed.

        Args:
            graded: the result.
            rubric: the rubric it was graded by.
            submitted_at: when it was handed in; a time without zone is taken as UTC.
            language: of the comments; default: the assignment's first.
            within: a transaction to take part in; otherwise the call is one of its own.

        Raises:
            GradebookError: the assignment was not prepared, or the database refused.
        """
        if within is None:
            with self.transaction() as connection:
                self.record(graded, rubric, submitted_at, language=language, within=connection)
            return
        score = graded.score
        with tables.refusals(f"the marks of {score.student!r} could not be recorded"):
            places = self._cells(within, score.assignment)
            marks.enter_student(within, Student(score.student))
            submission = marks.enter_submission(within, score, ledger.utc(submitted_at))
            marks.complete_rows(within, submission, places)
            resubmitted = marks.note_digest(within, score, graded.digest)
            scores = marks.cell_scores(score, rubric)
            marks.write_grades(within, submission, scores, resubmitted=resubmitted)
            self._comment(within, score, rubric, language)

    def restore(
        self, results: Mapping[str, Graded], rubrics: Mapping[str, Rubric], *, language: str = ""
    ) -> tuple[str, ...]:
        """Put automatic scores back that something else has written over, with their comments.

        People's marks stay, and so does whether one of them is to be looked at again.

        Args:
            results: what was recorded last, by student, of one assignment.
            rubrics: what each of them was graded by.
            language: of the comments; default: the assignment's first.

        Returns:
            The students whose scores were not ours.

        Raises:
            GradebookError: the database refused.
        """
        scores = {one: marks.cell_scores(graded.score, rubrics[one]) for one, graded in results.items()}
        name = next((graded.score.assignment for graded in results.values()), "")
        with tables.refusals("the marks could not be read"), self.engine.connect() as connection:
            found = overwritten.overwritten(connection, name, scores)
        if not found:
            return ()
        listed = self.submissions(name)
        with self.transaction() as connection:
            found = overwritten.overwritten(connection, name, scores)
            overwritten.put_back(connection, found)
            for student in listed & results.keys():  # where all scores are 0 anyway, comments alone were lost
                self._comment(connection, results[student].score, rubrics[student], language)
        return tuple(sorted(found))

    def submissions(self, assignment: str) -> frozenset[str]:
        """The students of whom nbgrader has a submission: those that formgrader lists.

        Raises:
            GradebookError: the database refused.
        """
        query = (
            sa.select(tables.SUBMISSION.c.student_id)
            .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == tables.SUBMISSION.c.assignment_id)
            .where(tables.ASSIGNMENT.c.name == assignment)
        )
        with tables.refusals("the gradebook could not be read"), self.engine.connect() as connection:
            return frozenset(map(str, connection.execute(query).scalars()))

    def person_marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """What people gave in formgrader, by student and (notebook, cell).

        Raises:
            GradebookError: the database refused.
        """
        with (
            tables.refusals(f"the marks of {assignment!r} could not be read"),
            self.engine.connect() as connection,
        ):
            return people.read_marks(connection, assignment)

    def decide(self, assignment: str, given: Mapping[decisions.Key, decisions.Decision]) -> decisions.Entered:
        """Enter decisions about equal answers as people's marks; what people gave in formgrader stays.

        Raises:
            GradebookError: the database refused.
        """
        with self.transaction() as connection:
            return decisions.enter(connection, assignment, given)

    def _comment(self, connection: sa.Connection, score: Score, rubric: Rubric, language: str) -> None:
        """Write the automatic comments of a student whose submission is known."""
        places = self._cells(connection, score.assignment)
        commented = {(place.notebook, place.name) for place in places if place.type in cells.COMMENTED}
        submission = marks.enter_submission(connection, score, None)
        marks.write_comments(connection, submission, comment_texts(score, rubric, commented, language))

    def _cells(self, connection: sa.Connection, assignment: str) -> tuple[cells.Place, ...]:
        places = self._places.get(assignment) or cells.load(connection, assignment)
        if not places:
            raise GradebookError(f"assignment {assignment!r} has no cells in the gradebook; prepare it first")
        self._places[assignment] = places
        return places


def _submissions(connection: sa.Connection, assignment: str) -> list[str]:
    query = (
        sa.select(tables.SUBMISSION.c.id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == tables.SUBMISSION.c.assignment_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
    )
    return [str(identifier) for identifier in connection.execute(query).scalars()]
