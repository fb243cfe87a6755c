"""A second round: students get an accepted answer back with one fault in it, or with the question changed.

What is planted was proved in boxes: the answer as it was passes the checks of the second round, and with the
fault it does not. From then on the round is an assignment like any other.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from msgspec import Struct

from autograder import assignment as assignments
from autograder import atomic, generate
from autograder.app import SILENT, Isolation, Listener, counted
from autograder.app.stores import OpenStore, open_store
from autograder.assignment import Assignment
from autograder.code_faults import CATALOGUE, PlantedFault, planted_faults
from autograder.course import Course, Handin, manifest
from autograder.course.counting import everybody
from autograder.course.manifest import Manifest, OwnFault, StudentRelease
from autograder.errors import CourseError, NotebookError, describe_error
from autograder.grading import own_faults as judging
from autograder.grading.batch import collect
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.kinds import forms
from autograder.messages import sentence
from autograder.notebook.build import with_answer
from autograder.notebook.fill import label
from autograder.notebook.read import read
from autograder.notebook.student_check import FILE_NAME
from autograder.paths import files_in
from autograder.personal.second_round import RoundFiles, compose, own_answer, own_key
from autograder.records import Graded, ItemResult, Status
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.stream import Stream, derived
from autograder.variants.drawing import Variant, canonical_id

MOST_TRIED = 10
"""Faults that are tried in one answer, of the catalogue and of general mutations each."""
WORKERS = 2
_LOUD = frozenset({"raised", "raised.withheld", "name.missing", "not-implemented", "value.none"})
_GENERAL = frozenset(entry.id for entry in CATALOGUE if entry.general)


class Kill(Struct, frozen=True):
    """What a fault that was tried changes: the items that it loses."""

    fault: str
    line: int
    loses: tuple[str, ...]
    """None: it changes nothing that is looked at, or a person would have to decide."""
    quiet: bool = True
    """Something is wrong, and not merely refused to run."""


class StudentRound(Struct, frozen=True):
    """One student's second round, or why there is none."""

    student: str
    fault: OwnFault | None = None
    tried: tuple[Kill, ...] = ()
    reason: str = ""
    """Why there is none: the end of a code ``second-round.none-…``; empty where there is one."""
    detail: str = ""
    """What went wrong, for staff, where that is our fault."""
    seconds: float = 0.0
    """Processor time in boxes."""
    kept: bool = False
    """It was handed out before, and stays."""

    def told(self, language: str = "en") -> str:
        """Why there is none, as the student is told it; empty where there is one."""
        return sentence(f"second-round.none-{self.reason}", language) if self.reason else ""


class SecondRoundMade(Struct, frozen=True):
    """What was handed out."""

    name: str
    """Of the new assignment."""
    students: tuple[StudentRound, ...]

    @property
    def matrix(self) -> Mapping[str, Mapping[str, int]]:
        """Fault → item → in how many answers it loses the item; ``tried``: in how many it was tried."""
        found: dict[str, Counter[str]] = {}
        for one in self.students:
            for kill in one.tried:
                found.setdefault(kill.fault, Counter()).update(["tried", *kill.loses])
        return found


class RoundOutcome(Struct, frozen=True):
    """What became of one student's second round."""

    student: str
    fault: str
    outcome: str
    """``repaired``, ``partly``, ``left``, ``open`` where a person decides, or ``missing``: not handed in."""


def second_round(
    course: Course,
    name: str,
    question: str = "",
    *,
    students: Sequence[str] = (),
    replace_all: bool = False,
    language: str = "",
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
    store: OpenStore = open_store,
) -> SecondRoundMade:
    """Make the second round of a question, and write personal/<student>/<its name>/ for each student.

    The same secret, rubric and answers give the same faults. Whoever was given one before keeps it.

    Args:
        course: whose class.
        name: the assignment that was graded.
        question: of it; may be empty where only one can have a second round.
        students: for whom; default: all who handed in.
        replace_all: make those anew that were handed out before.
        language: of the texts; empty: all.
        isolation: how code is confined.
        watch: hears of each student.
        store: opens the course's.

    Raises:
        CourseError: nothing was graded, or the question cannot have a second round.
        RubricError: a rubric is not valid.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    first = assignments.load(course, name)
    asked = _question(first, question)
    with store(first, new=False) as opened:
        graded = opened.results(name)
    # Of a group whoever handed it in, as nobody else has the answer as their own.
    own = [one for one in everybody(course, first.rubric).handins if one.owner == one.student]
    handed = {one.student: one for one in own if not students or one.student in students}
    if unknown := sorted(set(students) - handed.keys()):
        raise CourseError(f"{name}: {', '.join(unknown)} handed nothing in")
    files = compose(first, asked)
    before = manifest.load(course.variants(files.name), course.secret())
    if before is None or replace_all:
        files.write(course)
        generate.generate(course, files.name, language)
    kept = {} if before is None or replace_all else before.students
    second = assignments.load(course, files.name)
    with Pool(isolation=isolation) as pool:
        maker = _Maker(first, asked, Grader(second.for_everybody, pool), files)
        work = partial(_student, maker, kept, graded)
        with ThreadPoolExecutor(WORKERS) as threads:
            found = tuple(counted(threads.map(work, handed.values()), len(handed), watch))
    _write(
        second, maker, [one for one, _ in found], {one.student: text for one, text in found if text}, before
    )
    return SecondRoundMade(files.name, tuple(one for one, _ in found))


def outcomes(course: Course, name: str, store: OpenStore = open_store) -> tuple[RoundOutcome, ...]:
    """What became of a second round that was graded.

    Args:
        course: whose class.
        name: of the second round.
        store: opens the course's.

    Raises:
        CourseError: it is no second round, or nothing was graded.
    """
    second = assignments.load(course, name)
    if second.manifest is None or not second.manifest.is_second_round:
        raise CourseError(f"{name} is no second round; make one with: autograder second-round")
    with store(second, new=False) as opened:
        graded = {canonical_id(student): one for student, one in opened.results(name).items()}
    return tuple(
        RoundOutcome(student, given.fault.fault, _outcome(graded.get(student), given.fault))
        for student, given in second.manifest.students.items()
        if given.fault is not None
    )


def _outcome(graded: Graded | None, fault: OwnFault) -> str:
    return "missing" if graded is None else judging.outcome_of_round(graded.score.items, fault)


def _question(first: Assignment, wanted: str) -> Question:
    """The question, where it is stated or the only one that defines code or states what changes.

    Raises:
        CourseError: it is not there, or several can have a second round.
    """
    known = {one.id: one for one in first.rubric.questions}
    if wanted:
        if wanted not in known:
            raise CourseError(f"{first.name} has no question {wanted!r}; known are: {', '.join(known)}")
        return known[wanted]
    able = [one for one in known.values() if one.answer and (one.second_round or _is_code(one))]
    if len(able) != 1:
        names = ", ".join(one.id for one in able) or "none"
        raise CourseError(f"{first.name}: say which question, with --question; those that can be: {names}")
    return able[0]


def _is_code(question: Question) -> bool:
    return forms()[question.kind] == "code"


class _Maker:
    """Tries faults in answers, and keeps to what the checks of the second round notice. Thread safe."""

    def __init__(self, first: Assignment, asked: Question, grader: Grader, files: RoundFiles) -> None:
        self.first, self.asked, self.files = first, asked, files
        self._grader = grader
        (self.question,) = grader.assignment.rubric.questions
        self._key = derived(grader.secret, "second round", files.name)

    def notebook(self, source: str) -> bytes:
        """The released notebook with an answer in it."""
        release = self._grader.assignment.release_bytes[self.files.name]
        return with_answer(release, self.question.answer_cell, source)

    def made(self, student: str, source: str) -> tuple[StudentRound, str]:
        """A student's second round, and what stands in the answer cell.

        Args:
            student: the id.
            source: the answer as it was accepted, with all that it needs.
        """
        seconds = 0.0

        def results(text: str) -> tuple[ItemResult, ...]:
            nonlocal seconds
            handed = SubmittedFiles(student, {self.files.name: self.notebook(text)})
            graded = self._grader.grade(handed)
            seconds += graded.spent.processor_seconds
            return graded.score.items

        as_it_was = results(source)
        if self.files.changed:
            kill = _kill(judging.CHANGED, 0, as_it_was)
            if not kill.loses:
                return StudentRound(student, reason="right-anyway"), ""
            return StudentRound(
                student, OwnFault(judging.CHANGED, 0, kill.loses), (kill,), seconds=seconds
            ), source
        if any(one.status is not Status.PASSED for one in as_it_was):
            return StudentRound(student, reason="not-alone"), ""
        tried: list[Kill] = []
        best: tuple[Kill, PlantedFault] | None = None
        for fault in self._order(student, planted_faults(source)):
            kill = _kill(fault.fault, fault.line, results(fault.source))
            tried.append(kill)
            if kill.loses and (best is None or kill.quiet):
                best = kill, fault
            if kill.loses and kill.quiet:
                break
        if best is None:
            return StudentRound(student, None, tuple(tried), "unnoticed", seconds=seconds), ""
        kill, fault = best
        own = OwnFault(kill.fault, kill.line, kill.loses)
        return StudentRound(student, own, tuple(tried), seconds=seconds), fault.source

    def _order(self, student: str, faults: Iterable[PlantedFault]) -> Iterator[PlantedFault]:
        """The faults in the order in which they are tried: every kind once, the general ones last."""
        stream = Stream(self._key, canonical_id(student))
        by_kind: dict[str, list[PlantedFault]] = {}
        for one in faults:
            by_kind.setdefault(one.fault, []).append(one)
        for general in (False, True):
            kinds = [kind for kind in by_kind if (kind in _GENERAL) is general]
            left = [
                [
                    by_kind[kinds[at]][no]
                    for no in stream.some(len(by_kind[kinds[at]]), len(by_kind[kinds[at]]))
                ]
                for at in stream.some(len(kinds), len(kinds))
            ]
            longest = max(map(len, left), default=0)
            rounds = [some[at] for at in range(longest) for some in left if at < len(some)]
            yield from rounds[:MOST_TRIED]


def _kill(fault: str, line: int, results: Sequence[ItemResult]) -> Kill:
    lost = [one for one in results if one.status in (Status.FAILED, Status.NO_ANSWER)]
    if any(one.status is Status.NEEDS_REVIEW for one in results):
        lost = []
    quiet = all(one.code not in _LOUD and not one.code.startswith("ending.") for one in lost)
    return Kill(fault, line, tuple(one.item for one in lost), quiet)


def _student(
    maker: _Maker, kept: Mapping[str, StudentRelease], graded: Mapping[str, Graded], handin: Handin
) -> tuple[StudentRound, str]:
    """One student's second round, and what stands in the answer cell where it is new."""
    student = handin.student
    given = kept.get(canonical_id(student))
    if given is not None and given.fault is not None:
        return StudentRound(student, given.fault, kept=True), ""
    try:
        source, reason = _accepted(maker, graded.get(student), handin)
        return maker.made(student, source) if source else (StudentRound(student, reason=reason), "")
    except Exception as error:  # noqa: BLE001 - one student's accident must not stop a class
        return StudentRound(student, reason="fault", detail=describe_error(error)), ""


def _accepted(maker: _Maker, graded: Graded | None, handin: Handin) -> tuple[str, str]:
    """The code of an accepted answer; where there is none, why."""
    first, question = maker.first, maker.asked
    if graded is None:
        return "", "not-graded"
    manual = {item.id for item in question.items if item.manual}
    results = [one for one in graded.score.items if one.question == question.id and one.item not in manual]
    if any(one.status is Status.NEEDS_REVIEW for one in results):
        return "", "open"
    if not results or any(one.status is not Status.PASSED for one in results):
        return "", "not-passed"
    handed = collect(first, handin)
    data = handed.notebooks[question.notebook]
    if isinstance(data, NotebookError) or handed.digest() != graded.digest:
        return "", "other-files"
    release = first.releases_of(handin.student)[question.notebook]
    submission = read(data, release, student=handin.student, assignment=first.name)
    source = own_answer(submission, question.answer)
    return source, "" if source else "not-own"


def _write(
    second: Assignment,
    maker: _Maker,
    made: Sequence[StudentRound],
    sources: Mapping[str, str],
    before: Manifest | None,
) -> None:
    """Write the notebooks, and keep the record of them; whoever has none is told why."""
    course, name = second.course, second.name
    given: dict[str, StudentRelease] = {}
    notebooks: dict[str, bytes] = {}
    for one in made:
        folder = course.personal(one.student, name)
        if one.reason:
            folder.mkdir(parents=True, exist_ok=True)
            atomic.write(folder / "README.md", f"{one.told(second.language)}\n".encode())
        if one.student not in sources or one.fault is None:
            continue
        variant = Variant({"own": own_key(one.student, sources[one.student])})
        data = label(maker.notebook(sources[one.student]), variant.label)
        digest = hashlib.sha256(data).hexdigest()
        notebooks[digest] = data
        given[canonical_id(one.student)] = StudentRelease(variant, {name: digest}, fault=one.fault)
        _hand_out(second, folder, data)
    if given:
        students = {**(before.students if before else {}), **given}
        record = Manifest(name, {}, students)
        manifest.store(course.variants(name), record, notebooks, course.secret())


def _hand_out(second: Assignment, folder: Path, data: bytes) -> None:
    release = second.course.release(second.name)
    (notebook,) = second.rubric.assignment.notebooks
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").unlink(missing_ok=True)
    atomic.write(folder / f"{second.name}.ipynb", data)
    atomic.write(folder / FILE_NAME, atomic.read(release / FILE_NAME))
    for place, file in files_in(release, notebook.given):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        atomic.link(file, folder / place)
