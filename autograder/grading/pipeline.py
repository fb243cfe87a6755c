"""The pipeline for one student, in order: read, run, call, judge, score."""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from autograder.core.errors import (
    AutograderError,
    NotebookError,
    RepeatedBoxLoss,
    SandboxError,
    SandboxFault,
    describe_error,
)
from autograder.core.limits import compute_budgets
from autograder.core.records import (
    Answer,
    Call,
    Cell,
    CellOutcome,
    ExecutedNotebook,
    GradingResult,
    ItemResult,
    Markdown,
    Message,
    Note,
    Observation,
    ResourceUsage,
    Status,
    Submission,
)
from autograder.core.tables import escape_name
from autograder.course.submission_folder import ABSENT, name_files
from autograder.grading import grades
from autograder.grading.assignment import Assignment
from autograder.grading.cell_tests import CellTests, prepare_cells_to_run
from autograder.grading.expected_values import (
    StudentAssignment,
    StudentAssignments,
    ask_once,
    derive_box_seed,
)
from autograder.grading.store import count_pictures, fit_to_budget
from autograder.grading.submitted_files import (
    NotebookFiles,
    OtherFiles,
    make_missing_error,
    note_documents,
    read_files,
    refuse_other_assignment,
    report_other_files,
    review_ungraded_files,
)
from autograder.grading.unreadable_answers import (
    AnswerFacts,
    NotebookGaps,
    find_gaps,
    note_unshown_pictures,
    read_saved_pictures,
    review_zeros,
)
from autograder.notebook.cell_matching import LOST
from autograder.notebook.submission_reader import read_details
from autograder.questions.base.base import (
    Draw,
    Evidence,
)
from autograder.questions.base.judging.results import Finding, make_review, with_syntax_fault
from autograder.questions.base.judging.results import make_result as item_result
from autograder.questions.base.values.literal import has_several_formulas
from autograder.rubric import NotebookFile, Question, Rubric
from autograder.sandbox import limit_notes
from autograder.sandbox.base import Environment
from autograder.sandbox.pool import Pool
from autograder.sandbox.proof import selftest
from autograder.sandbox.session import Session
from autograder.sandbox.timeouts import SubmissionTimeouts, Timeouts

JUDGING_TIME = "judging-time"
"""The code of a note about questions that were not judged because earlier ones took too long."""


class SubmittedFiles(Struct, frozen=True):
    """Everything that one student submitted for one assignment."""

    student: str
    notebooks: Mapping[str, bytes | NotebookError]
    """By name; an error if the file could not be read."""
    files: Mapping[str, bytes | NotebookError] = {}
    """The other files of the submission by path, missing ones omitted; an error if one could not be read."""
    unread: tuple[str, ...] = ()
    """Files that are not graded although they may contain the student's work."""
    taken: Mapping[str, str] = {}
    """Expected path → original path, for files that are graded under another name."""
    beside: tuple[str, ...] = ()
    """Further files that are not graded; they matter only if work is missing."""
    copies: Mapping[str, bytes] = {}
    """Other notebooks and pictures next to the graded ones, by name."""

    @property
    def other(self) -> OtherFiles:
        """All files that are not graded."""
        return OtherFiles(self.unread, self.beside, self.copies)

    def compute_digest(self) -> str:
        """Return the SHA-256 over the whole submission, errors of unreadable files included."""
        digest = hashlib.sha256()
        # The prefix keeps a file from replacing a notebook of the same name.
        files = {f"files/{name}": content for name, content in self.files.items()}
        # Each name ends with a NUL, which no file name contains, so that two submissions cannot have the
        # same bytes.
        for name, content in sorted({**files, **self.notebooks}.items()):
            data = content.code.encode() if isinstance(content, NotebookError) else content
            digest.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
        for name in self.other.names:
            digest.update(b"unread\0" + hashlib.sha256(name.encode()).digest())
        for name, data in sorted(self.copies.items()):
            digest.update(b"copy\0" + name.encode() + b"\0" + hashlib.sha256(data).digest())
        return digest.hexdigest()


class JudgedAnswer(Struct, frozen=True):
    """The result of one answer."""

    results: tuple[ItemResult, ...]
    fault: str = ""
    """Why it needs manual review, if that is our fault."""
    notes: tuple[Note, ...] = ()
    """Remarks for staff."""


class Grader:
    """Grade submissions of one assignment. Thread safe: several may be graded at the same time."""

    def __init__(
        self,
        assignment: Assignment,
        pool: Pool,
        *,
        drawn: Mapping[str, Assignment] | None = None,
    ) -> None:
        """Start the sandboxes and load the secret and the expected values.

        Args:
            assignment: loaded.
            pool: provides the sandboxes.
            drawn: students with a variant that was not given out, by id (`grading.personal_variants`).

        Raises:
            CourseError: the secret or a reference solution is not usable.
            RubricError: a module that the rubric preloads is not installed.
            SandboxUnavailable: student code cannot be confined on this machine, or the self-test found a
                hole.
        """
        self.assignment = assignment
        self.pool = pool
        self.secret = assignment.course.load_secret()
        self.seed = derive_box_seed(self.secret, assignment.name)
        with assignment.report_missing_preloads(), ThreadPoolExecutor(2) as threads:
            # Importing torch takes seconds: the students' sandboxes start while the reference computes.
            environments = assignment.list_environments()
            proving = threads.submit(
                selftest.ensure,
                pool.start_apart,
                assignment.course.private,
                isolation=pool.isolation.value,
                packages=[package for environment in environments for package in environment.packages],
            )
            warming = threads.submit(pool.start_all, environments)
            self.sittings = StudentAssignments(assignment, pool, drawn)
            warming.result()
            proving.result()

    def judge_answer(
        self,
        question: Question,
        answer: Answer,
        *,
        answers: Mapping[str, Answer],
        earlier: Mapping[str, Sequence[ItemResult]],
        ask: Callable[[tuple[Call, ...]], Sequence[Observation]],
        sitting: StudentAssignment,
        cells: Sequence[str] = (),
        tests: Mapping[str, CellOutcome] | None = None,
    ) -> JudgedAnswer:
        """Judge one answer. A fault of ours becomes results that need manual review.

        Args:
            question: of the assignment.
            answer: to the question.
            answers: all answers of the notebook, by grade_id.
            earlier: the results of the questions before this one, by question id.
            ask: carries out the check's plan; not called if the plan is empty.
            sitting: the student's variant.
            cells: the sources of the student's other code cells and modules.
            tests: the outcomes of the question's test cells, by item.

        Raises:
            RepeatedBoxLoss: no answer of this submission can be judged any more.
        """
        check, personal = sitting.assignment.checks[question.id], sitting.assignment
        try:
            draw = Draw.from_secret(self.secret, personal.rubric, question, sitting.own)
            plan = check.plan_calls(answer)
            observed = ask(plan) if plan else ()
            evidence = replace(
                Evidence(answer, observed, answers=answers, cells=cells),
                draw=draw,
                expected=sitting.expected.get(question.id, ()),
                earlier=_index_by_item(earlier),
                tests=tests or {},
                ask_reference=functools.partial(ask_once, personal, question, pool=self.pool, seed=self.seed),
            )
            return JudgedAnswer(with_syntax_fault(check.judge(evidence), answer, question))
        except RepeatedBoxLoss:
            raise
        except SandboxFault as fault:
            code, staff = grades.SANDBOX_FAULT, f"the sandbox failed: {describe_error(fault)}"
        except Exception as error:  # noqa: BLE001 - a fault of ours must not cost points or stop a batch
            code, staff = grades.OUR_FAULT, f"our fault: {describe_error(error)}"
        return JudgedAnswer(
            _apply_to_items(question, make_review(staff)), staff, (Note(code, staff, question.id),)
        )

    def grade(
        self,
        submitted: SubmittedFiles,
        known_results: Mapping[str, tuple[ItemResult, ...]] | None = None,
        timeouts: SubmissionTimeouts | None = None,
    ) -> GradingResult:
        """Grade one student's submission. Whatever it contains, the result is a score.

        After an unexpected error all items without a result need manual review, and a note describes the
        error.

        Args:
            submitted: the submission.
            known_results: results of questions that need not be judged again, by question id.
            timeouts: known time-outs, which are not run again; new ones are added.

        Raises:
            NewTimeout: if `timeouts` requests it.
        """
        started = time.monotonic()
        digest = ""
        try:
            digest = submitted.compute_digest()
            sitting = self.sittings.get_for_student(submitted.student, submitted.notebooks, digest)
        except AutograderError as error:  # the student's variant is unknown, which is our fault
            note = Note("variant-unknown", str(error))
            return self._require_review(
                submitted.student, self.assignment.rubric, note, submitted.compute_digest()
            )
        except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
            return self.leave_open(submitted.student, error, digest)
        run = _SubmissionRun(self, submitted, sitting, known_results or {}, timeouts or SubmissionTimeouts())
        run.notes += [
            Note("taken-as", f"{escape_name(source)} was read as {path}")
            for path, source in submitted.taken.items()
        ]
        refused = {
            content.code for content in submitted.notebooks.values() if isinstance(content, NotebookError)
        }
        if submitted.unread and "unread-files" not in refused:  # that refusal already names them
            run.notes.append(Note("unread-files", f"Not graded: {name_files(submitted.unread)}"))
        for notebook in self.assignment.rubric.assignment.notebooks:
            run.grade_notebook(notebook)
        rubric = sitting.assignment.rubric
        try:
            score = grades.compute_score(submitted.student, rubric, run.results, run.notes, run.isolation)
        except Exception as error:  # noqa: BLE001 - as above
            open_score = self.leave_open(submitted.student, error).score
            score = replace(open_score, notes=(*run.notes, *open_score.notes), isolation=run.isolation)
        return GradingResult(
            score=score,
            notebooks=tuple(run.executed),
            digest=digest,
            seconds=time.monotonic() - started,
            sandbox_seconds=run.seconds_in_sandbox,
            spent=run.spent,
            stated=run.stated,
            files=tuple(content for files in run.files.values() for content in files.listed),
            timeouts=run.timeouts.met,
        )

    def leave_open(self, student: str, error: Exception, digest: str = "") -> GradingResult:
        """Return a result that needs manual review as a whole, after an unexpected error."""
        rubric = self.assignment.get_rubric(student)
        return self._require_review(
            student, rubric, Note(grades.OUR_FAULT, f"our fault: {describe_error(error)}"), digest
        )

    def _require_review(self, student: str, rubric: Rubric, note: Note, digest: str) -> GradingResult:
        score = grades.leave_open(student, rubric, note.text, (note,), self.pool.isolation.value)
        return GradingResult(score=score, digest=digest)


class _SubmissionRun:
    """The results of one submission while it is graded."""

    def __init__(
        self,
        grader: Grader,
        submitted: SubmittedFiles,
        sitting: StudentAssignment,
        known_results: Mapping[str, tuple[ItemResult, ...]],
        timeouts: SubmissionTimeouts,
    ) -> None:
        self._grader = grader
        self.timeouts = timeouts
        self._known = known_results
        self._handed = submitted
        self._sitting = sitting
        self.results: dict[str, tuple[ItemResult, ...]] = {}
        self.notes: list[Note] = [*sitting.notes]
        self.executed: list[ExecutedNotebook] = []
        self.files: dict[str, NotebookFiles] = {}
        """By notebook."""
        self.isolation = grader.pool.isolation.value
        self.seconds_in_sandbox = 0.0
        self.spent = ResourceUsage()
        self.stated: dict[str, str] = {}
        self._tests: Mapping[str, Mapping[str, CellOutcome]] = {}
        self._asked: dict[str, set[str]] = {}
        """Question id → names that a box was asked for to judge it."""
        self._gaps = NotebookGaps()
        """Of the current notebook."""
        self._saved = frozenset[str]()
        """See `read_saved_pictures`."""
        self._broken = ""
        """Why no more calls are made for the current notebook."""
        # Processor time of this thread: a busy machine must not shorten the judging time.
        self._until = (
            time.thread_time() + compute_budgets(grader.assignment.rubric.assignment.limits).judging_seconds
        )

    def grade_notebook(self, notebook: NotebookFile) -> None:
        """Read and run one notebook and judge its questions; unexpected errors lead to manual review."""
        try:
            submission = self._read_notebook(notebook)
            if submission is not None:
                self._judge_notebook(notebook, submission)
                questions = self._sitting.assignment.list_questions(notebook.name)
                release = self._sitting.assignment.releases[notebook.name]
                other_files = self._handed.other.drop_shown(submission)
                self.results |= review_ungraded_files(
                    questions, self.results, other_files, submission, release
                )
        except Exception as error:  # noqa: BLE001 - a fault of ours must not cost points or stop a batch
            staff = f"our fault: {describe_error(error)}"
            self.notes.append(Note(grades.OUR_FAULT, staff, notebook.name))
            for question in self._sitting.assignment.list_questions(notebook.name):
                results = self.results.get(question.id) or self._known.get(question.id)
                self.results[question.id] = results or _apply_to_items(question, make_review(staff))

    def _read_notebook(self, notebook: NotebookFile) -> Submission | None:
        """Read the submitted notebook; None if it is refused, in which case the results say so."""
        assignment = self._sitting.assignment
        data = self._handed.notebooks.get(notebook.name)
        if data is None:
            data = make_missing_error(f"{notebook.name}.ipynb")
        try:
            release = assignment.releases[notebook.name]
            if isinstance(data, NotebookError):
                if data.code not in ABSENT or release.has_answers:
                    raise data
                data = assignment.release_bytes[notebook.name]  # nothing to answer
            # A release that replaces a missing notebook need not be checked.
            if data is self._handed.notebooks.get(notebook.name):
                refuse_other_assignment(assignment.course, assignment.name, release, data)
            pictures = self._handed.other.pictures
            submission = assignment.read_submission(notebook.name, data, self._handed.student, pictures)
        except NotebookError as error:
            self.notes.append(Note(error.code, str(error), notebook.name))
            self.results.update(grades.refuse_questions(assignment.rubric, error, notebook=notebook.name))
            return None
        files = read_files(notebook, self._handed.files, assignment.starters)
        self.files[notebook.name] = files
        self.notes += (*submission.notes, *note_unshown_pictures(submission), *files.notes)
        other_files = self._handed.other.drop_shown(submission)
        name = f"{notebook.name}.ipynb"
        graded = self._handed.taken.get(name, name)
        submission = replace(
            submission,
            answers={**submission.answers, **files.answers},
            remarks=(*report_other_files(escape_name(graded), other_files), *submission.remarks),
        )
        self.notes += note_documents(other_files)
        # Kept before anything runs: whatever happens later, markers see the student's text.
        self.executed.append(
            ExecutedNotebook(
                notebook.name,
                submission.cells,
                (None,) * len(submission.cells),
                submission.answer_cells,
                submission.remarks,
                submission.further,
            )
        )
        if assignment.rubric.assignment.exam:
            # Entries of earlier notebooks take precedence.
            self.stated = {**read_details(submission.cells), **self.stated}
        return submission

    def _judge_notebook(self, notebook: NotebookFile, submission: Submission) -> None:
        """Run a notebook and judge its questions."""
        assignment = self._sitting.assignment
        try:
            environment = assignment.build_environment(notebook)
            sandbox = self._grader.pool.create_persistent(environment)
        except SandboxError as fault:
            staff = f"the sandbox failed: {describe_error(fault)}"
            self.notes.append(Note(grades.SANDBOX_FAULT, staff, notebook.name))
            self.results |= {
                item.id: _apply_to_items(item, make_review(staff))
                for item in assignment.list_questions(notebook.name)
            }
            return
        self.isolation = str(sandbox.isolation)
        files = self.files[notebook.name].contents
        grader, draw_scope, done = self._grader, self._sitting.own, self._known
        cell_tests = CellTests(
            assignment, notebook, submission, sandbox, grader=grader, draw_scope=draw_scope, without=done
        )
        cells = prepare_cells_to_run(submission.cells, assignment, notebook.name)
        timeouts = self._find_timeouts(environment, cells, files)
        session = cell_tests.open_session(cells, files, timeouts)
        try:
            with session, cell_tests:
                try:
                    session.run()
                except RepeatedBoxLoss:
                    raise
                except SandboxFault as fault:
                    self.notes.append(Note(grades.SANDBOX_FAULT, describe_error(fault), notebook.name))
                self._broken = ""
                self._saved = read_saved_pictures(self._handed.notebooks.get(notebook.name))
                other_names = self._handed.other.names
                self._gaps = find_gaps(submission.cells, session.runs, submission.answers, other_names)
                self.notes += (item.to_note() for item in self._gaps.imports)
                self._tests = cell_tests.collect_outcomes(session)
                self.isolation += cell_tests.stamp
                for question in assignment.list_questions(notebook.name):
                    known_results = self._known.get(question.id)
                    self.results[question.id] = known_results or self._judge_question(
                        question, submission, session
                    )
        # The losses may be deliberate, so results judged before them do not count either.
        except RepeatedBoxLoss as ended:
            self._review_notebook(notebook, describe_error(ended))
        finally:
            self._keep_run(notebook, submission, session, timeouts)

    def _keep_run(
        self, notebook: NotebookFile, submission: Submission, session: Session, timeouts: Timeouts
    ) -> None:
        """Keep outputs, notes, time-outs and resource usage of a run."""
        assignment = self._sitting.assignment
        if session.crowded:
            self._review_losses(notebook)
        ran = replace(self.executed[-1], runs=tuple(session.runs))
        limits, notebooks = assignment.rubric.assignment.limits, assignment.rubric.assignment.notebooks
        # The notebooks of a submission share one budget.
        shown_kb = compute_budgets(limits).shown_kb // len(notebooks)
        kept = fit_to_budget(ran, submission.answers.keys(), shown_kb)
        if lost := count_pictures(ran) - count_pictures(kept):
            text = f"{lost} pictures in texts are too large to be kept: look into the notebook handed in."
            self.notes.append(Note("pictures-left-out", text, notebook.name))
        self.executed[-1] = kept
        self.notes += session.notes
        # Boxes of an ordinary user share quotas, so a neighbour may have caused the time-outs: keep none.
        if limit_notes.SHARED_USER not in {note.code for note in session.notes}:
            self.timeouts.met |= timeouts.met
        self.seconds_in_sandbox += session.seconds_in_sandbox
        self.spent = _take_maximum(self.spent, session.get_spent())

    def _review_losses(self, notebook: NotebookFile) -> None:
        """Require manual review of points that other boxes may have caused to be lost."""
        for question in self._sitting.assignment.list_questions(notebook.name):
            if question.id in self._known or question.id not in {*self._asked, *self._tests}:
                continue
            finding = make_review(f"{limit_notes.SHARED_USER}: {limit_notes.CROWDED}")
            items = {item.id: item for item in question.items}
            self.results[question.id] = tuple(
                item_result(question, items[result.item], finding)
                if result.status in (Status.FAILED, Status.NO_ANSWER)
                else result
                for result in self.results.get(question.id, ())
            )

    def _find_timeouts(
        self, environment: Environment, cells: Sequence[Cell | Markdown], files: Mapping[str, bytes]
    ) -> Timeouts:
        """Return the known time-outs under a digest of everything that determines the run."""
        assignment, isolation, seed = self._sitting.assignment, self.isolation, self._grader.seed

        def hash_run() -> bytes:  # slow, and most submissions never need it
            box = [
                isolation,
                seed,
                assignment.hash_box_contents(environment),
                assignment.rubric.assignment.limits,
            ]
            sources = [cell.source if isinstance(cell, Cell) else None for cell in cells]
            contents = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
            return hashlib.sha256(msgspec.json.encode([box, sources, contents])).digest()

        return self.timeouts.get_notebook_timeouts(hash_run)

    def _review_notebook(self, notebook: NotebookFile, staff: str) -> None:
        """Require manual review of all questions of a notebook, including those already judged."""
        self.notes.append(Note(grades.ENDED_ITSELF, staff, notebook.name))
        for question in self._sitting.assignment.list_questions(notebook.name):
            open_results = _apply_to_items(question, make_review(staff, "review.ended"))
            self.results[question.id] = self._known.get(question.id) or open_results

    def _judge_question(
        self, question: Question, submission: Submission, session: Session
    ) -> tuple[ItemResult, ...]:
        """Judge one answer, or require manual review with a reason."""
        assignment = self._sitting.assignment
        answer = assignment.find_answer(question, submission)
        if answer is None:
            return self._review_question(question, "the release has no answer cell for this question")
        lost = {note.place: note.text for note in submission.notes if note.code == LOST}
        if answer.grade_id in lost:
            return self._review_question(question, lost[answer.grade_id], "review.cells")
        if time.thread_time() > self._until:
            return self._report_out_of_time(question)
        files = self.files[question.notebook]
        parts = self.executed[-1].find_positions(answer.grade_id)
        # It is ambiguous which formula the student means as the answer.
        if (
            len(parts) > 1
            and has_several_formulas(answer)
            and not all(item.manual for item in question.items)
        ):
            staff = "the answer stands in several text cells with several formulas"
            return self._review_question(question, staff, "review.cells")
        judged = self._grader.judge_answer(
            question,
            answer,
            answers=submission.answers,
            earlier=self.results,
            ask=lambda plan: self._ask_session(session, plan, question.id),
            sitting=self._sitting,
            cells=[
                item.source
                for position, item in enumerate(submission.cells)
                if isinstance(item, Cell) and not item.locked and position not in parts
            ]
            + files.list_sources(without=question.file),
            tests=self._tests.get(question.id),
        )
        self.notes += judged.notes
        results = files.explain_missing(judged.results, question) if question.file else judged.results
        named = assignment.list_required_names(question.notebook).get(answer.grade_id, ())
        facts = AnswerFacts(
            question,
            assignment.checks[question.id],
            answer,
            submission,
            session.runs,
            parts,
            self._gaps,
            {*self._asked.get(question.id, ()), *named},
            self._saved,
        )
        results, notes = review_zeros(results, facts)
        self.notes += notes
        return results

    def _ask_session(
        self, session: Session, plan: tuple[Call, ...], question_id: str
    ) -> Sequence[Observation]:
        """Make calls until an unexpected error happens; then no more.

        After such an error the box's next reply could belong to another call, and our fault would be mistaken
        for the student's.
        """
        names = self._asked.setdefault(question_id, set())
        names.update(call.target for call in plan)
        if self._broken:
            raise SandboxFault(f"not asked after an error in an earlier question: {self._broken}")
        try:
            return session.ask(plan, place=question_id)
        except SandboxFault:
            raise
        except Exception as error:
            self._broken = describe_error(error)
            raise

    def _report_out_of_time(self, question: Question) -> tuple[ItemResult, ...]:
        """Require manual review of a question because the processor time for judging is used up."""
        most = f"{compute_budgets(self._sitting.assignment.rubric.assignment.limits).judging_seconds} s"
        staff = f"not judged: the questions before took the {most} of processor time that judging has"
        self.notes.append(Note(JUDGING_TIME, staff, question.id))
        return _apply_to_items(
            question, Finding(Status.NEEDS_REVIEW, Message("review.judging", {"limit": most}), staff)
        )

    def _review_question(
        self, question: Question, staff: str, code: str = "review.fault"
    ) -> tuple[ItemResult, ...]:
        note = "needs-review" if code == "review.fault" else "answer-unclear"
        self.notes.append(Note(note, staff, question.id))
        return _apply_to_items(question, make_review(staff, code))


def _index_by_item(earlier: Mapping[str, Sequence[ItemResult]]) -> dict[str, ItemResult]:
    return {f"{result.question}.{result.item}": result for results in earlier.values() for result in results}


def _apply_to_items(question: Question, finding: Finding) -> tuple[ItemResult, ...]:
    """Return the same finding for every item of a question."""
    return tuple(item_result(question, item, finding) for item in question.items)


def _take_maximum(usage: ResourceUsage, other_usage: ResourceUsage) -> ResourceUsage:
    return ResourceUsage(*(max(pair) for pair in zip(astuple(usage), astuple(other_usage), strict=True)))
