"""What tells the planted faults of a question of kind ``debugging``, for its author."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from msgspec import Struct

from autograder import assignment as assignments
from autograder import rubric as rubrics
from autograder.app import Isolation
from autograder.assignment import Assignment
from autograder.checks.base import Draw
from autograder.course import Course
from autograder.errors import CourseError
from autograder.grading.pipeline import Grader
from autograder.kinds import make_check
from autograder.kinds.general.debugging import DebuggingCheck
from autograder.kinds.general.debugging.search import Search
from autograder.records import Call, Ref, Scenario, Tensor
from autograder.rubric import Question
from autograder.sandbox.pool import Pool
from autograder.verify import VerifyFinding

__all__ = [
    "ExplainedProbe",
    "ExplainedQuestion",
    "difference",
    "explain",
    "faulty_listings",
    "handed_out",
    "together",
    "work",
]

MAX_CALL = 200
MOST_SHOWN = 64
"""Numbers of an array whose values are shown."""


class ExplainedProbe(Struct, frozen=True):
    """One probe that is asked of every answer."""

    name: str
    calls: tuple[str, ...]
    """In words; they hold hidden inputs."""
    inputs: tuple[tuple[str, ...], ...]
    """For each call, its arrays with their values, as far as they are small: ``tensor [2]: [0.1, 0.2]``."""
    about: str
    """The fault that the author made it for; empty: it was found by the search."""
    kills: Mapping[str, int]
    """Fault → percent of the listings without it whose outcome changes when it is planted."""


class ExplainedQuestion(Struct, frozen=True):
    """How the faults of one question are told."""

    question: str
    faults: tuple[str, ...]
    listings: int
    """Sets of faults that were run."""
    work: str
    """How many that is of all sets, with how many probes and calls, in words."""
    probes: tuple[ExplainedProbe, ...]
    confusions: tuple[str, ...]
    """What cannot be told apart, and why."""
    warnings: tuple[str, ...]
    """What is not asked, uses in which the right listing raises, and faults that change every probe."""
    faulty: str
    """The listing with all faults, as it is handed out."""


def explain(
    course: Course, name: str, isolation: Isolation = Isolation.NAMESPACES
) -> tuple[ExplainedQuestion, ...]:
    """Show the probes, what they tell, and what cannot be told.

    Raises:
        CourseError: no question of the assignment is of this kind, or a fault cannot be planted.
        RubricError: the rubric is not valid.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    loaded = assignments.load(course, name)
    checks = [
        (question, check)
        for question in loaded.rubric.questions
        if isinstance(check := loaded.checks[question.id], DebuggingCheck)
    ]
    if not checks:
        raise CourseError(f"{name}: no question has kind = 'debugging'; there is nothing to explain")
    with Pool(isolation=isolation) as pool:
        common = Grader(loaded, pool).sittings.common
        return tuple(
            _explained(
                question,
                check,
                common.named[question.id],
                common.expected[question.id],
                Draw.for_question(course.secret(), loaded.rubric, question),
            )
            for question, check in checks
        )


def faulty_listings(course: Course, name: str) -> dict[str, str]:
    """The listings with all faults, by question: rubric and reference are enough, nothing is run.

    Raises:
        CourseError: no question of the assignment is of this kind, a reference cannot be read, or a fault
            cannot be planted.
        RubricError: the rubric is not valid.
    """
    rubric = rubrics.load(course.rubric(name))
    with rubrics.located(course.rubric(name)):
        checks = [make_check(one, rubric) for one in rubric.questions]
    found = {}
    for check in checks:
        if isinstance(check, DebuggingCheck):
            listing = check.listing_in(_module(course, check.question))
            found[check.question.id] = listing.text(listing.faults)
    if not found:
        raise CourseError(f"{name}: no question has kind = 'debugging'; there is nothing to explain")
    return found


def work(loaded: Assignment) -> Iterator[str]:
    """How much is run for each question of the kind before anybody is graded, in words."""
    for question in loaded.rubric.questions:
        if isinstance(check := loaded.checks[question.id], DebuggingCheck):
            yield f"{question.id}: {check.work.words}"


def handed_out(loaded: Assignment) -> Iterator[VerifyFinding]:
    """Questions whose released answer cell is another listing than that with all faults.

    Raises:
        CourseError: a reference cannot be read, or a fault cannot be planted.
    """
    for question in loaded.rubric.questions:
        check = loaded.checks[question.id]
        if not isinstance(check, DebuggingCheck):
            continue
        listing = check.listing_in(_module(loaded.course, question))
        release = loaded.releases[question.notebook or loaded.rubric.assignment.notebooks[0].name]
        cell = release.by_id.get(release.answer_cell(question))
        got = difference(cell.source if cell else "", listing.text(listing.faults))
        if got:
            yield VerifyFinding(
                "untouched release",
                question.id,
                "the listing with all faults, as the rubric states them",
                got,
                f"copy what autograder debugging explain {loaded.name} --listing prints above the solution",
            )


def difference(given: str, faulty: str) -> str:
    """How a cell differs from a listing as a syntax tree, by the first line; empty: it does not.

    Comments and imports do not count, nor definitions that the cell leaves to others.
    """
    try:
        cell, wanted = (_definitions(source) for source in (given, faulty))
    except SyntaxError as error:
        return f"no Python: line {error.lineno}: {error.msg}"
    for name, lines in wanted.items():
        if name not in cell:
            if name == next(reversed(wanted)):
                return f"no {name}"
            continue
        for own, right in zip_longest(cell[name], lines, fillvalue="nothing more"):
            if own != right:
                return f"{own.strip()!r} where the listing with all faults has {right.strip()!r}"
    return ""


def _definitions(source: str) -> dict[str, list[str]]:
    """Each name that a source binds, with the lines of the last statement that does, in one form."""
    found: dict[str, list[str]] = {}
    for statement in ast.parse(source).body:
        lines = ast.unparse(statement).splitlines()
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.pop(name, None)
                found[name] = lines
            case ast.Assign() | ast.AnnAssign():
                found[lines[0].partition("=")[0].strip()] = lines
    return found


def _module(course: Course, question: Question) -> str:
    """The text of the module of the reference that holds a right listing."""
    stem = course.reference.joinpath(*question.reference.partition(":")[0].split("."))
    paths = (stem.with_suffix(".py"), stem / "__init__.py")
    path = next((one for one in paths if one.is_file()), None)
    if path is None:
        raise CourseError(f"{paths[0]}: not there; question {question.id!r} names it as its reference")
    return path.read_text(encoding="utf-8")


def _explained(
    question: Question, check: DebuggingCheck, named: Any, expected: Any, draw: Draw
) -> ExplainedQuestion:
    found, scenarios = check.search(named), check.uses.scenarios(draw)
    probes = tuple(
        ExplainedProbe(
            probe,
            _in_words(scenarios[probe]),
            tuple(_inputs(one) for one in scenarios[probe].calls),
            check.uses.about[probe],
            {fault: found.kills(fault, at) for fault in found.listings.faults},
        )
        for probe, at in zip(found.probes, found.chosen, strict=True)
    )
    listing = check.listing(expected)
    return ExplainedQuestion(
        question.id,
        found.listings.faults,
        len(found.listings.subsets),
        check.work.words,
        probes,
        (*(one.words for one in found.confusions), *_left(found)),
        tuple(_warnings(check, named, probes)),
        listing.text(listing.faults),
    )


def _left(found: Search) -> Iterator[str]:
    if found.left:
        yield f"{found.left} further pairs of sets of faults, which were not compared"


def _warnings(check: DebuggingCheck, named: Any, probes: Sequence[ExplainedProbe]) -> Iterator[str]:
    """What the author should know although everything can be told."""
    for use, (error, count, tries) in check.raising(named).items():
        yield f"use {use!r}: the right listing raises {error} in {count} of {tries} tries"
    for probe in check.search(named).listings.of_no_use:
        yield f"{probe}: not heard, since it says nothing of the right listing (NaN, or `sure` is not true)"
    for words in check.not_asked(named):
        yield f"not asked: {words}"
    yield from check.mistaken(named)
    yield from together([one.kills for one in probes])


def together(kills: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """A warning where several faults change what every probe gives.

    Args:
        kills: of each probe; see `ExplainedProbe`.
    """
    always = [fault for fault in (kills[0] if kills else {}) if all(one[fault] for one in kills)]
    if len(always) > 1:
        yield (
            f"{' and '.join(always)} change every probe: code that repairs one of them by half leaves all of "
            "them to a person; give each a use in which the others change nothing"
        )


def _inputs(call: Call) -> tuple[str, ...]:
    """The arrays of a call with their values."""
    return tuple(
        f"{_value(one)}: {_numbers(one)}"
        for one in (*call.args, *call.kwargs.values())
        if isinstance(one, Tensor | np.ndarray)
    )


def _numbers(value: Tensor | np.ndarray) -> str:
    array = value.array if isinstance(value, Tensor) else value
    if array.size > MOST_SHOWN:
        return f"{array.size} numbers, too many to show"
    return np.array2string(array, precision=4, separator=", ", max_line_width=1 << 20).replace("\n", "")


def _in_words(scenario: Scenario) -> tuple[str, ...]:
    return tuple(_call(one)[:MAX_CALL] for one in scenario.calls)


def _call(call: Call) -> str:
    target = call.target.name if isinstance(call.target, Ref) else call.target
    said = f"{target}.{call.attribute}" if call.attribute else target
    if not call.read:
        named = (f"{name}={_value(value)}" for name, value in call.kwargs.items())
        said = f"{said}({', '.join([*map(_value, call.args), *named])})"
    return f"{call.keep} = {said}" if call.keep else said


def _value(value: Any) -> str:
    """An argument; arrays by type and shape."""
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, Tensor):
        return f"tensor {list(value.array.shape)}"
    if isinstance(value, np.ndarray):
        return f"array {list(value.shape)}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}: {_value(one)}' for name, one in value.items())}}}"
    return repr(value)
