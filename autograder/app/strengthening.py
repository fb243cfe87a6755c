"""What adopted tests leave unseen: mistakes in the answer key that pass them, and questions that say more."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import cpu_count
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from autograder import assignment as assignments
from autograder import atomic
from autograder import rubric as rubrics
from autograder.adopting.asked import AskedTest, read_test
from autograder.adopting.key_module import HEAD, OF_VARIABLE, defined, key_module
from autograder.adopting.mutants import Mutant, mutants
from autograder.adopting.stated import Unstated
from autograder.adopting.stronger import Proposal, proposal, with_proposals
from autograder.app import SILENT, Isolation, Listener, counted
from autograder.assignment import Assignment
from autograder.course import Course
from autograder.errors import AutograderError, CourseError
from autograder.generate import generate
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.kinds import make_check
from autograder.records import Cell, ItemResult, Status
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.verify.findings import Mark
from autograder.verify.papers import AnswerKey, check_key, check_release, grade_answer_key, with_sources

MOST = 20
"""Mutants of one cell, unless it is said otherwise."""
_LEAST_SECONDS = 2.0
"""That a mutant's test or cell may take, of processor time."""
_TIMES = 5
"""As long as the whole answer key took may a mutant's test or cell take."""
_OTHERS = ("submitted", "autograded", "feedback", "release", "rubrics", "reference", "staff", "personal")
"""Folders of a course that are no part of an assignment whose source is the course's folder."""


class TestAdvice(Struct, frozen=True):
    """What is proposed for one adopted question."""

    question: str
    kind: str = ""
    """Of the proposal; empty: there is none."""
    reason: str = ""
    """What the proposal says that the tests do not; or why there is none."""


class Survivor(Struct, frozen=True):
    """A mistake in the answer key that the cell's own tests do not see."""

    line: int
    """Of the answer cell."""
    before: str
    after: str
    mistake: str
    elsewhere: tuple[str, ...] = ()
    """Tests of other cells that see it."""
    proposed: tuple[str, ...] = ()
    """Proposals that see it."""


class MutatedCell(Struct, frozen=True):
    """One answer cell, and what its tests make of mistakes in it."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    """The questions about it; where it has none of its own, all of the notebook."""
    mutants: int
    undecided: int
    """Of these, how many no test judged: a person would."""
    survivors: tuple[Survivor, ...]


class Strengthened(Struct, frozen=True):
    """What was found out about an assignment's tests."""

    assignment: str
    tests: tuple[TestAdvice, ...]
    cells: tuple[MutatedCell, ...]
    written: tuple[Path, ...]
    """The proposed rubric and the module that it compares with; none without a proposal."""

    @property
    def weak(self) -> int:
        """How many mistakes pass."""
        return sum(len(one.survivors) for one in self.cells)


def strengthen(
    course: Course,
    name: str,
    *,
    most: int = MOST,
    apply: bool = False,
    workers: int = 0,
    isolation: Isolation = Isolation.NAMESPACES,
    watch: Listener = SILENT,
) -> Strengthened:
    """Propose questions that say more than adopted tests, and plant mistakes in the key for tests to see.

    A proposal is written to ``rubrics/stronger/``, never into the rubric unless that is asked for; the answer
    key earns full points by it, and the untouched release none. Mutants run in boxes, as students' code.

    Args:
        course: of the assignment.
        name: of an adopted assignment whose source is there.
        most: mutants of one answer cell.
        apply: write the proposals into the rubric, and the module into reference/.
        workers: mutants at the same time; 0: one per core.
        isolation: how code is confined.
        watch: hears of each mutant.

    Raises:
        CourseError: the assignment was not adopted, has no source, or a file is in the way.
        RubricError: the rubric is not valid.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    assignment = assignments.load(course, name)
    if not assignment.rubric.assignment.adopted:
        raise CourseError(f"{name} was not adopted, so it has no test cells; see autograder adopt")
    places = _places(course, name, apply=apply)
    with Pool(isolation=isolation) as pool, tempfile.TemporaryDirectory(prefix="strengthen-") as scratch:
        grader = Grader(assignment, pool)
        key = grade_answer_key(grader)
        reader = _Reader(assignment, key, course.rubric(name).read_text("utf-8"))
        made, advice = reader.proposals(_module_name(name))
        tried = _tried(reader, made, Path(scratch), pool)
        advice |= tried.refused
        runs = _MutantRuns(Grader(_hurried(assignment, key), pool), key, tried)
        planned = runs.planned(most)
        threads = workers or cpu_count() or 1
        cells = runs.cells(planned, threads, watch)
    if apply and tried.proposals and course.rubric(name).read_text("utf-8") != reader.rubric:
        raise CourseError(f"{course.rubric(name)} was changed meanwhile; run this once more")
    for path, text in zip(places, (tried.rubric, tried.module), strict=True) if tried.proposals else ():
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic.write(path, text.encode())
    accepted = {one.question: TestAdvice(one.question, one.kind, one.more) for one in tried.proposals}
    ordered = [one.id for one in assignment.rubric.questions if one.kind == "cells"]
    tests = tuple(accepted.get(one) or TestAdvice(one, reason=advice[one]) for one in ordered)
    return Strengthened(name, tests, cells, places if tried.proposals else ())


def _module_name(name: str) -> str:
    return f"key_{''.join(one if one.isascii() and one.isalnum() else '_' for one in name)}"


# ---------------------------------------------------------------- proposals


class _Reader(Struct, frozen=True):
    """What tests and answer key say, as text."""

    assignment: Assignment
    key: AnswerKey
    rubric: str
    """The rubric's text, as it is proved with the proposals."""

    def sources(self, notebook: str) -> Iterator[tuple[str, str]]:
        """grade_id and source of the key's code cells that are no tests."""
        release = self.assignment.releases[notebook]
        graded = {cell.grade_id for cell in release.cells if cell.grade and cell.is_locked}
        for cell in self.key.submissions[notebook].cells:
            if isinstance(cell, Cell) and cell.grade_id not in graded:
                yield cell.grade_id, cell.source

    def module(self, made: Iterable[Proposal]) -> str:
        """The module that proposals compare with, those that were written into the rubric before as well."""
        known = (one.reference.partition(":") for one in self.assignment.rubric.questions)
        before = [what for module, _, what in known if module == _module_name(self.assignment.name)]
        names = dict.fromkeys(
            [*before, *(f"{OF_VARIABLE}{one.answer}" if one.kind == "value" else one.answer for one in made)]
        )
        cells = [source for one in self.key.submissions for _, source in self.sources(one)]
        return key_module(cells, names)

    def proposals(self, module: str) -> tuple[list[Proposal], dict[str, str]]:
        """What tests could be replaced by, and why others cannot, by question."""
        made: list[Proposal] = []
        reasons: dict[str, str] = {}
        asked = {one.id: self._asked(one) for one in self.assignment.rubric.questions if one.kind == "cells"}
        for name, tests in asked.items():
            question = self.assignment.rubric.question(name)
            siblings = [
                test
                for other, known in asked.items()
                if self.assignment.rubric.question(other).notebook == question.notebook
                for test in known
            ]
            try:
                cell = self._defining(question, tests)
                made.append(proposal(question, tests, siblings, module=module, cell=cell))
            except Unstated as error:
                reasons[name] = str(error)
        return made, reasons

    def _asked(self, question: Question) -> list[AskedTest]:
        release = self.assignment.releases[question.notebook]
        answers = {cell.grade_id for cell in release.cells if cell.is_answer}
        found = [defined(source) for cell, source in self.sources(question.notebook) if cell in answers]
        functions = {name for one, _ in found for name in one}
        names = {name for _, one in found for name in one}
        return [
            AskedTest(reason="a person decides on it: it is not judged outside of the student's box")
            if item.manual
            else read_test(
                str(item.options.get("code", "")),
                is_doctest=bool(item.options.get("doctest")),
                functions=functions,
                names=names,
            )
            for item in question.items
        ]

    def _defining(self, question: Question, tests: Sequence[AskedTest]) -> str:
        """grade_id of the cell that binds the answer."""
        answer = tests[0].answer
        binding = [
            cell for cell, source in self.sources(question.notebook) if answer in defined(source)[1] and cell
        ]
        if answer and len(binding) != 1:
            raise Unstated(f"{len(binding)} answer cells bind {answer}; expected one")
        return binding[0] if binding else question.answer_cell


class _Tried(Struct, frozen=True):
    """Proposals that hold: the key earns full points by them, and the untouched release none."""

    proposals: tuple[Proposal, ...]
    refused: Mapping[str, str]
    """Why others are none, by question."""
    rubric: str
    module: str
    grader: Grader | None = None
    key: AnswerKey | None = None


def _tried(reader: _Reader, made: Sequence[Proposal], scratch: Path, pool: Pool) -> _Tried:
    """Let the key and the release sit an exam with the proposals, in a course of its own."""
    text, refused, sound = reader.rubric, dict[str, str](), []
    for one in made:
        try:
            rubric = rubrics.parse(with_proposals(text, {one.question: one.text}).encode())
            make_check(rubric.question(one.question), rubric)
            sound.append(one)
        except AutograderError as error:
            refused[one.question] = f"it makes no valid question: {error}"
    if not sound:
        return _Tried((), refused, text, "")
    grader, unanswered = _exam(reader, sound, scratch, pool)
    refused |= unanswered
    sound = [one for one in sound if one.question not in refused]
    tables = {one.question: one.text for one in sound}
    key = grade_answer_key(grader)
    for one in sound:
        if reason := _no_value(grader, one):
            refused[one.question] = reason
    for finding in (*check_key(key), *check_release(grader)):
        place = _of_question(finding.place, tables)
        if place:
            refused.setdefault(place, f"the {finding.paper} does not earn what it should: {finding.got}")
    kept = tuple(one for one in sound if one.question not in refused)
    rest = {one.question: one.text for one in kept}
    return _Tried(kept, refused, with_proposals(text, rest), reader.module(kept), grader, key)


def _of_question(place: str, questions: Iterable[str]) -> str:
    """The question that a finding is about, by its place: ids may have dots. Empty: none of these."""
    return max((one for one in questions if place.startswith(f"{one}.") or place == one), key=len, default="")


def _exam(
    reader: _Reader, made: Sequence[Proposal], scratch: Path, pool: Pool
) -> tuple[Grader, dict[str, str]]:
    """The assignment with proposals, in a course of its own, without those that the key cannot answer.

    Raises:
        AutograderError: the release or the right results cannot be made for another reason.
    """
    course, name = reader.assignment.course, reader.assignment.name
    text, unanswered = reader.rubric, dict[str, str]()
    while True:
        kept = [one for one in made if one.question not in unanswered]
        rubric = with_proposals(text, {one.question: one.text for one in kept})
        copy = _copied(course, name, scratch / str(len(kept)), rubric, reader.module(kept))
        try:
            return Grader(assignments.load(copy, name), pool), unanswered
        except CourseError as error:
            failed = [one.question for one in kept if str(error).startswith(f"question {one.question!r}: ")]
            if not failed:
                raise
            unanswered |= dict.fromkeys(failed, f"the answer key has no answer to hidden inputs: {error}")


def _no_value(grader: Grader, made: Proposal) -> str:
    """Why the reference says nothing that could be compared; empty where it does."""
    for scenario in grader.sittings.common.expected.get(made.question, ()):
        for one in scenario:
            if one.error or one.ending:
                return f"its calls of the answer key raise {one.error or one.ending}: {one.message}"
            if one.value is None:
                return "the answer key gives None: what it prints or changes is seen by its test alone"
    return ""


def _copied(course: Course, name: str, folder: Path, rubric: str, module: str) -> Course:
    """A course with the assignment alone, another rubric, and one module more."""
    source = course.source(name)
    place = source.relative_to(course.root)
    others = shutil.ignore_patterns(*_OTHERS, ".*", "*.db") if source == course.root else None
    shutil.copytree(source, folder / place, ignore=others)
    copy = Course(folder)
    if course.reference.is_dir():
        shutil.copytree(course.reference, copy.reference)
    copy.reference.mkdir(exist_ok=True)
    atomic.write(copy.reference / f"{_module_name(name)}.py", module.encode())
    copy.rubrics.mkdir()
    atomic.write(copy.rubrics / f"{name}.toml", rubric.encode())
    copy.private.mkdir(mode=0o700)
    atomic.write(copy.private / "secret", course.secret(), mode=0o600)  # so the same inputs are drawn
    generate(copy, name)
    return copy


def _places(course: Course, name: str, *, apply: bool) -> tuple[Path, Path]:
    """Where the proposed rubric lies, and the module that it compares with.

    Raises:
        CourseError: a file of somebody else's is in the way.
    """
    folder = course.rubrics / "stronger"
    rubric = course.rubric(name) if apply else folder / f"{name}.toml"
    module = (course.reference if apply else folder) / f"{_module_name(name)}.py"
    if module.exists() and not module.read_text("utf-8").startswith(HEAD):
        raise CourseError(f"{module}: a file of yours lies there; rename it, the proposals need its name")
    return rubric, module


# ---------------------------------------------------------------- mutants


class _Planned(Struct, frozen=True):
    """One answer cell, what is planted in it, and who is to see it."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


class _Seen(Struct, frozen=True):
    """What became of one mutant."""

    decided: bool
    survivor: Survivor | None = None


class _MutantRuns(Struct, frozen=True):
    """Grades answer keys with a mistake in one cell."""

    grader: Grader
    key: AnswerKey
    tried: _Tried

    def planned(self, most: int) -> tuple[_Planned, ...]:
        """The answer cells that are code, with their mutants and the questions about them."""
        found = []
        rubric = self.grader.assignment.rubric
        for notebook, release in self.grader.assignment.releases.items():
            judged = [one for one in rubric.questions if one.notebook == notebook and self._is_judged(one)]
            for cell in release.cells:
                answer = self.key.submissions[notebook].answers.get(cell.grade_id)
                own = [one.id for one in judged if one.answer_cell == cell.grade_id]
                by_hand = cell.grade and not own
                if answer is None or cell.cell_type != "code" or not cell.is_answer or by_hand:
                    continue
                made = mutants(answer.source, most)
                tests = tuple(own or [one.id for one in judged])
                if made and tests:
                    found.append(_Planned(notebook, cell.grade_id, tests, made))
        return tuple(found)

    def cells(self, planned: Sequence[_Planned], workers: int, watch: Listener) -> tuple[MutatedCell, ...]:
        """Let all mutants sit the exam."""
        total = sum(len(one.mutants) for one in planned)
        with ThreadPoolExecutor(workers) as threads:
            jobs = [partial(self._seen, one, mutant) for one in planned for mutant in one.mutants]
            seen = iter(list(counted(threads.map(lambda job: job(), jobs), total, watch)))
        cells = []
        for one in planned:
            own = [next(seen) for _ in one.mutants]
            undecided = sum(not found.decided for found in own)
            survivors = tuple(found.survivor for found in own if found.survivor is not None)
            cells.append(
                MutatedCell(one.notebook, one.cell, one.tests, len(one.mutants), undecided, survivors)
            )
        return tuple(cells)

    def _is_judged(self, question: Question) -> bool:
        return question.kind == "cells" and any(
            not item.manual and self.key.marks[f"{question.id}.{item.id}"] is Mark.KEPT
            for item in question.items
        )

    def _seen(self, planned: _Planned, mutant: Mutant) -> _Seen:
        lost, still_open = _lost(self.grader, self.key, planned, mutant, planned.tests)
        if lost or still_open:
            return _Seen(decided=bool(lost))
        others = [
            one.id
            for one in self.grader.assignment.rubric.questions
            if one.notebook == planned.notebook and self._is_judged(one) and one.id not in planned.tests
        ]
        elsewhere = _lost(self.grader, self.key, planned, mutant, others)[0] if others else ()
        proposed: tuple[str, ...] = ()
        if self.tried.grader is not None and self.tried.key is not None:
            names = {one.question for one in self.tried.proposals}
            own = [one for one in planned.tests if one in names]
            proposed = _lost(self.tried.grader, self.tried.key, planned, mutant, own)[0] if own else ()
        return _Seen(
            decided=True,
            survivor=Survivor(mutant.line, mutant.before, mutant.after, mutant.mistake, elsewhere, proposed),
        )


def _lost(
    grader: Grader, key: AnswerKey, planned: _Planned, mutant: Mutant, asked: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """The questions of those asked that lose points by a mutant, and whether one is left to a person."""
    notebooks = {
        name: with_sources(data, {planned.cell: mutant.source} if name == planned.notebook else {})
        for name, data in key.sources.items()
    }
    known = {name: tuple(results) for name, results in key.results().items() if name not in asked}
    graded = grader.grade(SubmittedFiles("a mutant of the answer key", notebooks, key.files), known)
    judged = [
        one
        for one in graded.score.items
        if one.question in asked
        and key.marks[f"{one.question}.{one.item}"] is Mark.KEPT
        and not grader.assignment.rubric.question(one.question).item(one.item).manual
    ]
    lost = dict.fromkeys(one.question for one in judged if _is_lost(one))
    return tuple(lost), any(one.status is Status.NEEDS_REVIEW for one in judged)


def _is_lost(result: ItemResult) -> bool:
    return result.status is not Status.NEEDS_REVIEW and result.points < result.possible


def _hurried(assignment: Assignment, key: AnswerKey) -> Assignment:
    """The assignment with limits at which a mutant that never ends is noticed soon."""
    seconds = max(_LEAST_SECONDS, _TIMES * key.graded.spent.submission_seconds)
    rubric = assignment.rubric
    questions = tuple(
        replace(
            one,
            items=tuple(
                replace(
                    item, options={**item.options, "seconds": min(seconds, item.options.get("seconds", 30.0))}
                )
                if one.kind == "cells" and not item.manual
                else item
                for item in one.items
            ),
        )
        for one in rubric.questions
    )
    limits = rubric.assignment.limits
    hurried = replace(limits, cell_seconds=min(seconds, limits.cell_seconds))
    rubric = replace(rubric, questions=questions, assignment=replace(rubric.assignment, limits=hurried))
    return replace(assignment, rubric=rubric, checks={one.id: make_check(one, rubric) for one in questions})
