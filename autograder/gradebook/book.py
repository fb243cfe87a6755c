"""The gradebook of a course: prepared once from the release, then written in batches of students."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Self

import sqlalchemy as sa

from autograder import messages
from autograder.errors import GradebookError, describe_error
from autograder.feedback.labels import Labels
from autograder.feedback.sanitise import escape_markup, sentence
from autograder.gradebook import cells, items, marks, results, tables, written
from autograder.gradebook.autograded import autograded_files, write_autograded
from autograder.gradebook.written import WrittenMarks
from autograder.grades import CellName, PersonMark, standing
from autograder.records import Graded, ItemResult, Score
from autograder.rubric import Question, Rubric
from autograder.store import AnswerName, Decision, EnteredMarks, FrontEnd, GradedEntry, Key, Student
from autograder.tables import name_list

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


class Gradebook:
    """nbgrader's database extended by tables of our own. Implements `autograder.store.Store`.

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
        self._book = tables.connect(database)
        self._engine: sa.Engine = self._book.engine
        self._places: dict[str, tuple[cells.GradebookCell, ...]] = {}
        self._releases: dict[str, Mapping[str, bytes]] = {}
        self._released: dict[str, str] = {}
        """Digest of the releases, by assignment."""
        self._outlines = results.OutlinesRead()
        self._written: dict[str, Mapping[str, WrittenMarks]] = {}
        """Last written marks by student, for each assignment; read when it is prepared."""
        with tables.refusals("our own tables could not be created"):
            results.METADATA.create_all(self._engine)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """See `Store.__exit__`."""
        self._book.close()

    @contextlib.contextmanager
    def _read(self, what: str = "the gradebook could not be read") -> Iterator[sa.Connection]:
        with tables.refusals(what), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def _write(self, what: str = "the gradebook could not be written") -> Iterator[sa.Connection]:
        """Open a transaction that holds SQLite's write lock from its start.

        By default SQLite takes the lock at the first write, and if two processes have both read before that,
        one of them fails.
        """
        with tables.refusals(what), self._engine.begin() as connection:
            if self._engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def prepare(self, rubric: Rubric, releases: Mapping[str, bytes]) -> None:
        """See `Store.prepare_assignment`."""
        name = rubric.assignment.name
        with tables.refusals(f"assignment {name!r} could not be prepared"):
            wanted = cells.wanted_cells(rubric, releases)
            # An adopted assignment's sources in the database include hidden tests, which our release lacks.
            keep = bool(rubric.assignment.adopted)
            cells.create(self._book, name, wanted, releases, keep_sources=keep)
        with self._write() as connection:
            cells.remove_others(connection, name, wanted)
            places = cells.load(connection, name)
            listed = marks.submissions(connection, name)
            # Counting rows is cheap; completing them reads every row of the class.
            if not marks.are_complete(connection, listed, places):
                marks.complete_rows(connection, list(listed.values()), places)
            self._written[name] = written.standing(connection, name, listed)
        self._places[name], self._releases[name] = places, releases
        self._released[name] = written.digest(releases)

    def enrol(self, students: Iterable[Student]) -> None:
        """See `Store.enroll_students`."""
        with self._write() as connection:
            marks.enter_students(connection, list(students))

    def begin(self, rubric: Rubric, environment: str, isolation: str) -> int:
        """See `Store.start_run`."""
        with self._write() as connection:
            return results.begin(connection, rubric, environment, isolation)

    def finish(self, run: int) -> None:
        """See `Store.finish_run`."""
        with self._write() as connection:
            results.finish(connection, run)

    def find(self, key: Key) -> Graded | None:
        """See `Store.find_result`."""
        with self._read() as connection:
            return results.find(connection, key)

    def record(
        self, entries: Sequence[GradedEntry], *, run: int | None = None, language: str = ""
    ) -> Mapping[str, str]:
        """See `Store.record_results`; only the copies below ``autograded/`` can fail on their own."""
        files: dict[str, dict[Path, bytes]] = {}
        problems: dict[str, str] = {}
        for entry in entries:
            with _told(problems, entry.key.student):
                releases = self._releases.get(entry.key.assignment, {})
                files[entry.key.student] = autograded_files(self._course, entry.graded, releases)
        if entries:
            with self._write() as connection:
                for name in dict.fromkeys(entry.key.assignment for entry in entries):
                    for some in tables.batched([entry for entry in entries if entry.key.assignment == name]):
                        characters = self._mark(connection, name, some, language)
                        results.keep(connection, name, some, run)
                        written.note(connection, name, self._signed(some, characters, files, language))
        # Files are written after the commit: a failed transaction leaves the old copies in place.
        for student, contents in files.items():
            with _told(problems, student):
                write_autograded(contents)
        return problems

    def standing(self, entries: Sequence[GradedEntry], language: str = "") -> frozenset[str]:
        """See `Store.find_unchanged_students`: those written by an earlier run and unchanged since."""
        return frozenset(entry.key.student for entry in entries if self._stands(entry, language))

    def _stands(self, entry: GradedEntry, language: str) -> bool:
        name, student = entry.key.assignment, entry.key.student
        before = self._written.get(name, {}).get(student)
        if before is None:
            return False
        # For a large class, building Path objects costs more than the stat calls themselves.
        folder = f"{self._course}/autograded/{student}/{name}"
        copies = [f"{folder}/{notebook}.ipynb" for notebook in self._releases[name]]
        return before.stands(written.signature(entry, self._released[name], language), copies)

    def _signed(
        self,
        entries: Sequence[GradedEntry],
        characters: Mapping[str, int],
        files: Mapping[str, Mapping[Path, bytes]],
        language: str,
    ) -> dict[str, WrittenMarks]:
        """Return, by student, the record that a later run compares with the current state."""
        return {
            entry.key.student: WrittenMarks(
                written.signature(entry, self._released[entry.key.assignment], language),
                characters[entry.key.student],
                sum(map(len, files[entry.key.student].values())),
            )
            for entry in entries
            if entry.key.student in files
        }

    def _mark(
        self, connection: sa.Connection, name: str, entries: Sequence[GradedEntry], language: str
    ) -> dict[str, int]:
        """Write automatic marks and comments of one assignment; each statement covers all students.

        Returns:
            Number of characters of the comments, by student.
        """
        of = {entry.key.student: entry for entry in entries}
        if name not in self._releases:
            raise GradebookError(f"assignment {name!r} is not known; prepare it first")
        places = self._places[name]
        with tables.refusals(f"the marks of {name_list(of)} could not be recorded"):
            marks.enter_students(connection, [Student(one) for one in of])
            moments = {one: results.utc(entry.submitted_at) for one, entry in of.items()}
            submitted = marks.enter_submissions(connection, name, moments)
            marks.complete_rows(connection, list(submitted.values()), places)
            digests = {one: entry.graded.digest for one, entry in of.items()}
            resubmitted = marks.note_digests(connection, name, digests)
            scores = {one: marks.cell_scores(entry.graded.score, entry.rubric) for one, entry in of.items()}
            marks.write_grades(connection, submitted, scores, resubmitted)
            commented = cells.commented(places)
            texts = {
                one: comment_texts(entry.graded.score, entry.rubric, commented, language)
                for one, entry in of.items()
            }
            marks.write_comments(connection, submitted, texts)
        return {one: sum(map(len, of_student.values())) for one, of_student in texts.items()}

    def results(self, assignment: str, rubric: str = "", *, whole: bool = True) -> dict[str, Graded]:
        """See `Store.load_results`."""
        with self._read() as connection:
            return results.current(connection, assignment, rubric, None if whole else self._outlines)

    def keys(self, assignment: str) -> dict[str, Key]:
        """See `Store.load_keys`."""
        with self._read() as connection:
            return results.keys(connection, assignment)

    def listed(self, assignment: str) -> frozenset[str]:
        """See `Store.list_students`: the students that formgrader lists."""
        with self._read() as connection:
            return frozenset(marks.submissions(connection, assignment))

    def marks(self, assignment: str) -> dict[str, dict[CellName, PersonMark]]:
        """See `Store.load_marks`: the marks that people entered in formgrader."""
        with self._read(f"the marks of {assignment!r} could not be read") as connection:
            return items.complete(connection, assignment, marks.read_marks(connection, assignment))

    def decided(self, assignment: str) -> dict[AnswerName, Decimal]:
        """See `Store.load_decided_points`."""
        with self._read() as connection:
            return marks.decided(connection, assignment)

    def give(
        self,
        assignment: str,
        student: str,
        cell: CellName,
        mark: PersonMark,
        decided: Decimal | None = None,
    ) -> None:
        """See `Store.give_mark`: stored as formgrader does, with item points in a table of our own."""
        with self._write() as connection:
            marks.give(connection, assignment, (student, *cell), mark)
            items.write(connection, assignment, (student, *cell), mark)
            if decided is not None:
                marks.remember(connection, assignment, (student, *cell), float(decided))

    def decide(self, assignment: str, given: Mapping[AnswerName, Decision]) -> EnteredMarks:
        """See `Store.apply_decisions`."""
        with self._write() as connection:
            return marks.enter(connection, assignment, given)

    def deduct(self, assignment: str, taken: Mapping[str, Decimal]) -> None:
        """See `Store.record_deductions`: stored as nbgrader's own plugin for late submissions does."""
        with self._read() as connection:
            changes = marks.other_penalties(connection, assignment, taken)
        if changes:
            with self._write() as connection:
                marks.write_penalties(connection, changes)

    def restore(
        self,
        results: Mapping[str, Graded],
        rubrics: Mapping[str, Rubric],
        releases: Mapping[str, bytes],
        language: str = "",
    ) -> tuple[str, ...]:
        """See `Store.restore_marks`: nbgrader's own autograde overwrites scores, comments and copies."""
        name = next((graded.score.assignment for graded in results.values()), "")
        sentences = []
        if changed := self._put_back(name, results, rubrics, language):
            for student, graded in self.results(name).items():
                if student in results:
                    write_autograded(autograded_files(self._course, graded, releases))
            sentences.append(f"{self._name}: {_REPLACED.format(name_list(changed))}")
        if lost := sorted(results.keys() - self.listed(name)):
            place = f"submitted/<student>/{name} is there: {name_list(lost)}"
            sentences.append(f"{self._name}: removed from it, but {place}. {_ENTERED_AGAIN}")
        path = self._course / CONFIGURATION
        # Our configuration switches nbgrader's autograde off with this option.
        if path.is_file() and "Autograde.exporter_class" not in path.read_text("utf-8", errors="replace"):
            sentences.append(f"{CONFIGURATION}: {_SWITCHED_ON}")
        return tuple(sentences)

    def _put_back(
        self, name: str, results: Mapping[str, Graded], rubrics: Mapping[str, Rubric], language: str
    ) -> list[str]:
        """Restore scores and comments; return the students with scores that were not ours."""
        scores = marks.class_scores(results, rubrics)
        with self._read("the marks could not be read") as connection:
            if not marks.overwritten(connection, name, scores):
                return []
        with self._write() as connection:
            # Checked again under the write lock: another grader may have written since the check above.
            found = marks.overwritten(connection, name, scores)
            marks.put_back(connection, [row for rows in found.values() for row in rows])
            places = cells.load(connection, name)
            commented = cells.commented(places)
            submitted = marks.submissions(connection, name)
            ours = {one: submitted[one] for one in submitted.keys() & results.keys()}
            texts = {  # for all students: if a score is 0 anyway, only the comment was lost
                one: comment_texts(results[one].score, rubrics[one], commented, language) for one in ours
            }
            marks.write_comments(connection, ours, texts)
        return sorted(found)


@contextlib.contextmanager
def _told(problems: dict[str, str], student: str) -> Iterator[None]:
    """Record an error as a problem of one student: a failed copy must not stop the class."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, the marks are recorded
        text = f"the notebook below autograded/ is not written: {describe_error(error)}"
        problems[student] = f"the marks are recorded, {text}"


def comment_texts(
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
    final = standing(score, rubric).final  # marks of people do not change the comment written here
    results = {(result.question, result.item): result for result in score.items}
    lines: dict[tuple[str, str], list[str]] = {}
    for question in rubric.questions:
        for item in question.items:
            place = _place(question, item.cell or question.id, commented)
            result = results.get((question.id, item.id))
            if place is not None and result is not None:
                text = labels.pick(item.title(final=final), item.id)
                lines.setdefault(place, []).append(_line(text, result, labels))
    told = messages.sentence("comment.isolation", labels.language, isolation=score.isolation)
    # The isolation level is mentioned only if it is not the default one.
    stamp = "" if score.isolation == "namespaces" else f"\n\n{told}"
    return {place: escape_markup("\n".join(texts) + stamp) for place, texts in lines.items()}


def _place(question: Question, cell: str, commented: Collection[tuple[str, str]]) -> tuple[str, str] | None:
    candidates = ((question.notebook, name) for name in (cell, question.answer_cell, question.id))
    return next((place for place in candidates if place in commented), None)


def _line(text: str, result: ItemResult, labels: Labels) -> str:
    told = sentence(result.student, labels.language, 600).replace("\n", " ")
    points = f"{labels.number(result.points)} {labels('of')} {labels.number(result.possible)}"
    verdict = messages.sentence(f"comment.{result.status.value}", labels.language)
    return f"- {text.strip()}: {points} ({verdict}). {told}".rstrip()
