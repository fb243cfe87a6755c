"""The gradebook of a course: prepared once from the release, then written in batches of students."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Self

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import asdict, astuple, replace

from autograder import messages
from autograder.core.errors import GradebookError, describe_error
from autograder.core.records import GradingResult, ItemResult, Score
from autograder.core.tables import join_names
from autograder.grading.grades import CellName, PersonMark, compute_standing
from autograder.grading.store import AnswerName, FrontEnd, GradedEntry, ResultKey, Student, encode_result
from autograder.pages.feedback.labels import Labels
from autograder.pages.feedback.sanitise import escape_markup, render_sentence
from autograder.rubric import Question, Rubric
from autograder.store.gradebook import cells, marks, results, tables
from autograder.store.gradebook.autograded import build_autograded_files, write_autograded

CONFIGURATION = "nbgrader_config.py"
_REPLACED = (
    "automatic scores were not ours, and were put back: {}. Something else wrote over them, as nbgrader's "
    "autograde does, which also runs student code without a sandbox. Marks that people gave are untouched; "
    "those that nbgrader wants to be looked at again still wait in formgrader"
)
_ENTERED_AGAIN = (
    "autograder grade enters them again; move the folder away if somebody no longer belongs to the class"
)
_SWITCHED_ON = (
    "nbgrader's own autograde, one click in formgrader, is not switched off: it would run student code "
    "without a sandbox and replace automatic scores by 0. Take over the file that autograder new writes into "
    "an empty folder"
)

_WRITTEN = sa.Table(
    "autograder_written",
    tables.RECORDED.metadata,
    sa.Column("assignment", sa.String(128), primary_key=True),
    sa.Column("student", sa.String(128), primary_key=True),
    sa.Column("signature", sa.String(64), nullable=False),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("bytes", sa.Integer, nullable=False),
)


class WrittenMarks(Struct, frozen=True):
    """Record of the data written for one student, so that a run over unchanged submissions skips the writing.

    `marks.find_overwritten_rows` finds marks that another program overwrote; comments and the copies below
    ``autograded/`` are compared by size here.
    """

    signature: str
    """Digest of everything the written data was made of."""
    characters: int
    """Total length of the automatic comments."""
    bytes: int
    """Total size of the copies below ``autograded/``."""

    def is_current(self, signature: str, copies: Iterable[str]) -> bool:
        """Decide whether exactly this was written, and the copies still have their size."""
        if self.signature != signature:
            return False
        try:
            return sum(os.stat(path).st_size for path in copies) == self.bytes  # noqa: PTH116 - see the caller
        # A missing copy has to be written again.
        except OSError:
            return False


def hash_releases(releases: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of an assignment's releases, with their names."""
    hasher = hashlib.sha256()
    for name, release in sorted(releases.items()):
        # Digests have a fixed length, so that one release cannot run into the name of the next.
        hasher.update(name.encode() + b"\0" + hashlib.sha256(release).digest())
    return hasher.hexdigest()


def compute_signature(entry: GradedEntry, released: str, language: str) -> str:
    """Return the SHA-256 of everything that the marks, comments and copies of an entry are made of.

    Cell outputs and extra files follow from the key, unless a submission is graded again.

    Args:
        entry: an outline of its result is sufficient.
        released: digest of the releases, from `hash_releases`.
        language: language of the comments.
    """
    parts = (*astuple(entry.key), language, str(entry.submitted_at), released)
    hasher = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "replace"))
    hasher.update(encode_result(replace(entry.graded, notebooks=(), files=())))
    return hasher.hexdigest()


def load_written(
    connection: sa.Connection, assignment: str, listed: Iterable[str]
) -> dict[str, WrittenMarks]:
    """Return the last written record of listed students, if all their comments still have that length."""
    submission, comment, notebook = tables.SUBMISSION, tables.COMMENT, tables.SUBMITTED_NOTEBOOK
    counted = (  # joined upwards from comments: nbgrader has no index the other way
        sa.select(submission.c.student_id, sa.func.sum(sa.func.length(comment.c.auto_comment)))
        .join_from(comment, notebook, notebook.c.id == comment.c.notebook_id)
        .join(submission, submission.c.id == notebook.c.assignment_id)
        .join(tables.ASSIGNMENT, tables.ASSIGNMENT.c.id == submission.c.assignment_id)
        .where(tables.ASSIGNMENT.c.name == assignment)
        .group_by(submission.c.student_id)
    )
    characters = dict.fromkeys(listed, 0)
    characters |= {str(student): int(total or 0) for student, total in connection.execute(counted)}
    table = _WRITTEN
    query = sa.select(table.c.student, table.c.signature, table.c.characters, table.c.bytes)
    rows = connection.execute(query.where(table.c.assignment == assignment))
    last_written = {str(student): WrittenMarks(*values) for student, *values in rows}
    return {
        student_id: written
        for student_id, written in last_written.items()
        if characters.get(student_id) == written.characters
    }


def record_written(connection: sa.Connection, assignment: str, written: Mapping[str, WrittenMarks]) -> None:
    """Store the record of the written data, by student."""
    rows = [
        {"assignment": assignment, "student": student, **asdict(of_student)}
        for student, of_student in written.items()
    ]
    tables.insert_or_update(connection, _WRITTEN, rows, ("assignment", "student"))


class Gradebook:
    """nbgrader's database extended by tables of our own. Implements `autograder.grading.store.Store`.

    In addition to the marks it maintains the copies below ``autograded/`` that formgrader shows.

    Args:
        database: a path, or a database URL (``postgresql://…``). A new database is created.
        course: the course folder; default: the folder of the database.

    Raises:
        GradebookError: it cannot be opened, or its tables have another nbgrader version.
    """

    front_end = FrontEnd(
        "formgrader",
        "formgrader and nbgrader export",
        "nbgrader db student remove --force takes a student out there, with all assignments",
    )

    def __init__(self, database: Path | str, course: Path | None = None) -> None:
        self._name = Path(database).name
        self._course = course or Path(database).parent
        self._book = tables.open_gradebook(database)
        self._engine: sa.Engine = self._book.engine
        self._places: dict[str, tuple[cells.GradebookCell, ...]] = {}
        self._releases: dict[str, Mapping[str, bytes]] = {}
        self._released: dict[str, str] = {}
        """Digest of the releases, by assignment."""
        self._outlines = results.OutlineCache()
        self._written: dict[str, Mapping[str, WrittenMarks]] = {}
        """Last written marks by student, for each assignment; read when it is prepared."""
        with tables.convert_errors("our own tables could not be created"):
            results.METADATA.create_all(self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """See `Store.__exit__`."""
        self._book.close()

    @contextlib.contextmanager
    def _open_reading(self, failure: str = "the gradebook could not be read") -> Iterator[sa.Connection]:
        with tables.convert_errors(failure), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def _open_writing(self, failure: str = "the gradebook could not be written") -> Iterator[sa.Connection]:
        """Open a transaction that holds SQLite's write lock from its start.

        By default SQLite takes the lock at the first write, and if two processes have both read before that,
        one of them fails.
        """
        with tables.convert_errors(failure), self._engine.begin() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def prepare_assignment(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """See `Store.prepare_assignment`."""
        name = rubric.assignment.name
        with tables.convert_errors(f"assignment {name!r} could not be prepared"):
            wanted = cells.collect_wanted_cells(rubric, releases)
            # An adopted assignment's sources in the database include hidden tests, which our release lacks.
            keep = bool(rubric.assignment.adopted)
            cells.create_cells(self._book, name, wanted, releases, keep_sources=keep)
        with self._open_writing() as connection:
            cells.remove_obsolete_cells(connection, name, wanted)
            places = cells.load_cells(connection, name)
            listed = marks.list_submissions(connection, name)
            # Counting rows is cheap; completing them reads every row of the class.
            if not marks.are_complete(connection, listed, places):
                marks.complete_rows(connection, list(listed.values()), places)
            self._written[name] = load_written(connection, name, listed)
        self._places[name], self._releases[name] = places, releases
        self._released[name] = hash_releases(releases)

    def enroll_students(self, students: Iterable[Student]) -> None:
        """See `Store.enroll_students`."""
        with self._open_writing() as connection:
            marks.enter_students(connection, list(students))

    def start_run(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """See `Store.start_run`."""
        with self._open_writing() as connection:
            return results.start_run(connection, rubric, environment, isolation)

    def finish_run(self, run: int) -> None:
        """See `Store.finish_run`."""
        with self._open_writing() as connection:
            results.finish_run(connection, run)

    def find_result(self, key: ResultKey) -> GradingResult | None:
        """See `Store.find_result`."""
        with self._open_reading() as connection:
            return results.find_result(connection, key)

    def record_results(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record_results`; only the copies below ``autograded/`` can fail on their own."""
        files: dict[str, dict[Path, bytes]] = {}
        problems: dict[str, str] = {}
        for entry in entries:
            with _catch_problem(problems, entry.key.student):
                releases = self._releases.get(entry.key.assignment, {})
                files[entry.key.student] = build_autograded_files(self._course, entry.graded, releases)
        if entries:
            with self._open_writing() as connection:
                for name in dict.fromkeys(entry.key.assignment for entry in entries):
                    for batch in tables.split_batches(
                        [entry for entry in entries if entry.key.assignment == name]
                    ):
                        characters = self._write_marks(connection, name, batch, language)
                        results.keep_results(connection, name, batch, run)
                        record_written(
                            connection, name, self._sign_entries(batch, characters, files, language)
                        )
        # Files are written after the commit: a failed transaction leaves the old copies in place.
        for student, contents in files.items():
            with _catch_problem(problems, student):
                write_autograded(contents)
        return problems

    def find_unchanged_students(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """See `Store.find_unchanged_students`: those written by an earlier run and unchanged since."""
        return frozenset(entry.key.student for entry in entries if self._is_unchanged(entry, language))

    def _is_unchanged(self, entry: GradedEntry, language: str) -> bool:
        name, student = entry.key.assignment, entry.key.student
        before = self._written.get(name, {}).get(student)
        if before is None:
            return False
        # For a large class, building Path objects costs more than the stat calls themselves.
        folder = f"{self._course}/autograded/{student}/{name}"
        copies = [f"{folder}/{notebook}.ipynb" for notebook in self._releases[name]]
        return before.is_current(compute_signature(entry, self._released[name], language), copies)

    def _sign_entries(
        self,
        entries: Sequence[GradedEntry],
        characters: Mapping[str, int],
        files: Mapping[str, Mapping[Path, bytes]],
        language: str,
    ) -> dict[str, WrittenMarks]:
        """Return, by student, the record that a later run compares with the current state."""
        return {
            entry.key.student: WrittenMarks(
                compute_signature(entry, self._released[entry.key.assignment], language),
                characters[entry.key.student],
                sum(map(len, files[entry.key.student].values())),
            )
            for entry in entries
            if entry.key.student in files
        }

    def _write_marks(
        self, connection: sa.Connection, name: str, entries: Sequence[GradedEntry], language: str
    ) -> dict[str, int]:
        """Write automatic marks and comments of one assignment; each statement covers all students.

        Returns:
            Number of characters of the comments, by student.
        """
        by_student = {entry.key.student: entry for entry in entries}
        if name not in self._releases:
            raise GradebookError(f"assignment {name!r} is not known; prepare it first")
        places = self._places[name]
        with tables.convert_errors(f"the marks of {join_names(by_student)} could not be recorded"):
            marks.enter_students(connection, [Student(student) for student in by_student])
            moments = {student: results.to_utc(entry.submitted_at) for student, entry in by_student.items()}
            submitted = marks.enter_submissions(connection, name, moments)
            marks.complete_rows(connection, list(submitted.values()), places)
            digests = {student: entry.graded.digest for student, entry in by_student.items()}
            resubmitted = marks.note_digests(connection, name, digests)
            scores = {
                student: marks.compute_cell_scores(entry.graded.score, entry.rubric)
                for student, entry in by_student.items()
            }
            marks.write_grades(connection, submitted, scores, resubmitted)
            commented = cells.list_commented_cells(places)
            texts = {
                student: format_comments(entry.graded.score, entry.rubric, commented, language)
                for student, entry in by_student.items()
            }
            marks.write_comments(connection, submitted, texts)
        return {student: sum(map(len, of_student.values())) for student, of_student in texts.items()}

    def load_results(
        self, assignment: str, rubric: str = "", *, whole: bool = True
    ) -> dict[str, GradingResult]:
        """See `Store.load_results`."""
        with self._open_reading() as connection:
            return results.load_current_results(
                connection, assignment, rubric, None if whole else self._outlines
            )

    def load_keys(self, assignment: str) -> dict[str, ResultKey]:
        """See `Store.load_keys`."""
        with self._open_reading() as connection:
            return results.load_keys(connection, assignment)

    def list_students(self, assignment: str) -> frozenset[str]:
        """See `Store.list_students`: the students that formgrader lists."""
        with self._open_reading() as connection:
            return frozenset(marks.list_submissions(connection, assignment))

    def load_marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """See `Store.load_marks`: the marks that people entered in formgrader."""
        with self._open_reading(f"the marks of {assignment!r} could not be read") as connection:
            return marks.complete_marks(connection, assignment, marks.read_marks(connection, assignment))

    def load_decided_points(self, assignment: str) -> dict[AnswerName, Decimal]:
        """See `Store.load_decided_points`."""
        with self._open_reading() as connection:
            return marks.load_decided_points(connection, assignment)

    def give_mark(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """See `Store.give_mark`: stored as formgrader does, with item points in a table of our own."""
        with self._open_writing() as connection:
            marks.write_mark(connection, assignment, (student, *cell), mark)
            marks.write_items(connection, assignment, (student, *cell), mark)
            if decided is not None:
                marks.record_decision(connection, assignment, (student, *cell), float(decided))

    def record_deductions(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """See `Store.record_deductions`: stored as nbgrader's own plugin for late submissions does."""
        with self._open_reading() as connection:
            changes = marks.find_changed_penalties(connection, assignment, taken)
        if changes:
            with self._open_writing() as connection:
                marks.write_penalties(connection, changes)

    def restore_marks(
        self,
        results: Mapping[str, GradingResult],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """See `Store.restore_marks`: nbgrader's own autograde overwrites scores, comments and copies."""
        name = next((graded.score.assignment for graded in results.values()), "")
        sentences = []
        if changed := self._restore_scores(name, results, rubrics, language):
            for student, graded in self.load_results(name).items():
                if student in results:
                    write_autograded(build_autograded_files(self._course, graded, releases))
            sentences.append(f"{self._name}: {_REPLACED.format(join_names(changed))}")
        if lost := sorted(results.keys() - self.list_students(name)):
            hint = f"submitted/<student>/{name} is there: {join_names(lost)}"
            sentences.append(f"{self._name}: removed from it, but {hint}. {_ENTERED_AGAIN}")
        path = self._course / CONFIGURATION
        # Our configuration switches nbgrader's autograde off with this option.
        if path.is_file() and "Autograde.exporter_class" not in path.read_text("utf-8", errors="replace"):
            sentences.append(f"{CONFIGURATION}: {_SWITCHED_ON}")
        return tuple(sentences)

    def _restore_scores(
        self, name: str, results: Mapping[str, GradingResult], rubrics: Mapping[str, Rubric], language: str
    ) -> list[str]:
        """Restore scores and comments; return the students with scores that were not ours."""
        scores = marks.compute_class_scores(results, rubrics)
        with self._open_reading("the marks could not be read") as connection:
            if not marks.find_overwritten_rows(connection, name, scores):
                return []
        with self._open_writing() as connection:
            # Checked again under the write lock: another grader may have written since the check above.
            overwritten_rows = marks.find_overwritten_rows(connection, name, scores)
            marks.write_scores(connection, [row for rows in overwritten_rows.values() for row in rows])
            places = cells.load_cells(connection, name)
            commented = cells.list_commented_cells(places)
            submitted = marks.list_submissions(connection, name)
            ours = {student: submitted[student] for student in submitted.keys() & results.keys()}
            texts = {  # for all students: if a score is 0 anyway, only the comment was lost
                student: format_comments(results[student].score, rubrics[student], commented, language)
                for student in ours
            }
            marks.write_comments(connection, ours, texts)
        return sorted(overwritten_rows)


@contextlib.contextmanager
def _catch_problem(problems: dict[str, str], student: str) -> Iterator[None]:
    """Record an error as a problem of one student: a failed copy must not stop the class."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the marks are recorded
        text = f"the notebook below autograded/ is not written: {describe_error(error)}"
        problems[student] = f"the marks are recorded, {text}"


def format_comments(
    score: Score, rubric: Rubric, commented: Collection[tuple[str, str]], language: str = ""
) -> dict[tuple[str, str], str]:
    """Return the comments that formgrader and nbgrader's feedback show for answers, by (notebook, cell).

    nbgrader renders comments as Markdown without sanitising, so characters that could become markup are
    replaced by look-alikes. Only the student texts are used, because students see these comments too.

    Args:
        score: the marks.
        rubric: provides the items' titles and cells.
        commented: cells that have a comment in nbgrader: its solution and task cells. If an item's own cell
            has none, its text goes to the question's answer cell.
        language: language of the comments; default: the assignment's first.
    """
    labels = Labels(language or next(iter(rubric.assignment.languages), "en"))
    final = compute_standing(score, rubric).final  # marks of people do not change the comment written here
    results = {(result.question, result.item): result for result in score.items}
    lines: dict[tuple[str, str], list[str]] = {}
    for question in rubric.questions:
        for item in question.items:
            cell_name = _find_comment_cell(question, item.cell or question.id, commented)
            result = results.get((question.id, item.id))
            if cell_name is not None and result is not None:
                text = labels.pick(item.get_title(final=final), item.id)
                lines.setdefault(cell_name, []).append(_format_line(text, result, labels))
    notice = messages.format_sentence("comment.isolation", labels.language, isolation=score.isolation)
    # The isolation level is mentioned only if it is not the default one.
    stamp = "" if score.isolation == "namespaces" else f"\n\n{notice}"
    return {cell_name: escape_markup("\n".join(texts) + stamp) for cell_name, texts in lines.items()}


def _find_comment_cell(
    question: Question, cell: str, commented: Collection[tuple[str, str]]
) -> tuple[str, str] | None:
    candidates = ((question.notebook, name) for name in (cell, question.answer_cell, question.id))
    return next((candidate for candidate in candidates if candidate in commented), None)


def _format_line(text: str, result: ItemResult, labels: Labels) -> str:
    detail = render_sentence(result.student, labels.language, 600).replace("\n", " ")
    points = f"{labels.number(result.points)} {labels('of')} {labels.number(result.possible)}"
    verdict = messages.format_sentence(f"comment.{result.status.value}", labels.language)
    return f"- {text.strip()}: {points} ({verdict}). {detail}".rstrip()
