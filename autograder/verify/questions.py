"""What is looked at besides the marks of papers: partial credit, sizes, and the checks that students see.

Ways through partial credit and what each is worth; parts of formulas that never matter; sizes that can come
out equal, so that code that takes one of them for the other gives the same numbers; and visible checks, which
must pass for the answer key in the notebook's own box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from autograder.checks.base import Draw, Evidence, HasPartialCredit, HasTolerance
from autograder.checks.planning.drawing import can_differ
from autograder.errors import SandboxError
from autograder.grading.pipeline import Grader
from autograder.kinds import make_check
from autograder.notebook.student_check import FILE_NAME
from autograder.records import Answer, Call, Cell, Scenario
from autograder.rubric import NotebookFile, Question, Rubric
from autograder.verify.findings import ItemCredit, VerifyFinding
from autograder.verify.papers import KEY, AnswerKey

_NAME = "_not_as_visible"


def list_credit(rubric: Rubric) -> tuple[ItemCredit, ...]:
    """Return every way through the steps that the rubric states, the conditions left open.

    Raises:
        RubricError: a question's options are not usable.
    """
    found = []
    for question in rubric.questions:
        check = make_check(question, rubric)
        for item, credit in check.ways.items() if isinstance(check, HasPartialCredit) else ():
            if credit.stated:
                found.append(ItemCredit(f"{question.id}.{item}", credit.ways))
    return tuple(found)


def idle_arguments(grader: Grader) -> Iterator[VerifyFinding]:
    """Right answers with an argument of ``max`` or ``min`` that never decides, named."""
    for question in grader.assignment.rubric.questions:
        check = grader.assignment.checks[question.id]
        if not isinstance(check, HasPartialCredit):
            continue
        draw = Draw.for_question(grader.secret, grader.assignment.rubric, question)
        expected = grader.sittings.common.expected.get(question.id, ())
        evidence = Evidence(Answer(question.id, "code", "", changed=True), (), expected, draw=draw)
        for found in check.idle_arguments(evidence):
            yield VerifyFinding(
                "rubric",
                f"{question.id}.{found.item}",
                "every argument of max and min decides for some values of the symbols",
                f"{found.argument} was nowhere seen to decide in {found.formula}",
                "leave it out, or write what was meant",
            )


def accepted_results(grader: Grader) -> Iterator[VerifyFinding]:
    """Results without any work, such as zeros, that a tolerance takes for right."""
    for question in grader.assignment.rubric.questions:
        check = grader.assignment.checks[question.id]
        if not isinstance(check, HasTolerance):
            continue
        draw = Draw.for_question(grader.secret, grader.assignment.rubric, question)
        expected = grader.sittings.common.expected.get(question.id, ())
        evidence = Evidence(Answer(question.id, "code", "", changed=True), (), expected, draw=draw)
        for found in check.accepted_results(evidence):
            yield VerifyFinding(
                "rubric",
                f"{question.id}.{found.item}",
                "a tolerance that refuses zeros, ones and an input unchanged",
                f"{found.result} in the place of every result: accepted",
                "state a smaller tolerance, or a case whose results are larger",
            )


def size_warnings(rubric: Rubric) -> Iterator[VerifyFinding]:
    """What is worth a look in the sizes of each question."""
    for question in rubric.questions:
        yield from _of_question(question)


def _of_question(question: Question) -> Iterator[VerifyFinding]:
    sizes = {
        name: [int(one) for one in choices]
        for name, choices in dict(question.options.get("sizes") or {}).items()
        if isinstance(choices, list | tuple)
    }
    if question.options.get("equal_sizes"):
        shared = sorted(_shared(sizes))
        if shared:
            yield _finding(
                question,
                f"{' and '.join(shared)} may come out equal",
                "leave out equal_sizes, unless they have to",
            )
    elif not can_differ(sizes):
        yield _finding(
            question,
            f"{', '.join(sizes)} always have two that are equal",
            "give them lists without common entries",
        )
    for name, case in _cases(question):
        stated = {size for part in _arguments(case) for size in _stated(part)}
        for size, choices in sizes.items():
            for value in sorted(stated & set(choices)):
                yield _finding(
                    question,
                    f"{size} can be drawn as {value}, and case {name!r} states a size of {value} as well",
                    f"take {value} out of {size}, or state another size there",
                )


def _finding(question: Question, got: str, remedy: str) -> VerifyFinding:
    return VerifyFinding("rubric", question.id, "sizes that differ, so that a wrong index shows", got, remedy)


def _shared(sizes: Mapping[str, list[int]]) -> set[str]:
    return {
        name
        for name, choices in sizes.items()
        for other, others in sizes.items()
        if name != other and set(choices) & set(others)
    }


def _cases(question: Question) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, case in enumerate(question.options.get("case") or (), start=1):
        if isinstance(case, Mapping):
            name = case.get("name") or str(number)
            yield (name if isinstance(name, str) else str(name.get("en", number))), case


def _arguments(case: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in (*case.get("args", ()), *dict(case.get("kwargs") or {}).values()):
        if isinstance(part, Mapping):
            yield part


def _stated(argument: Mapping[str, Any]) -> Iterator[int]:
    """The sizes that stand as numbers in a shape; an axis of one only broadcasts."""
    for size in argument.get("shape", ()):
        if isinstance(size, int) and size > 1:
            yield size


def of_visible(grader: Grader, key: AnswerKey) -> Iterator[VerifyFinding]:
    """What the visible checks of the rubric say about the answer key, other than that all is well."""
    rubric = grader.assignment.rubric
    for notebook in rubric.assignment.notebooks:
        asked = [one.id for one in rubric.questions if one.notebook == notebook.name and one.visible]
        for line in _failing(grader, key, notebook, asked) if asked else ():
            place, _, text = line.partition(": ")
            yield VerifyFinding(
                KEY,
                f"{place}, visible",
                "visible checks that pass",
                text,
                "correct [[question.visible]], or the key; students would be misled",
            )


def _failing(
    grader: Grader, key: AnswerKey, notebook: NotebookFile, questions: Sequence[str]
) -> Sequence[str]:
    """What the file that students get finds, after all cells of the key have run."""
    assignment = grader.assignment
    limits = assignment.rubric.assignment.limits
    environment = assignment.environment(notebook)
    others = tuple(file for file in environment.files if file[0] != FILE_NAME)
    file = (FILE_NAME, assignment.course.release(assignment.name) / FILE_NAME)
    own = {path: data for path, data in key.files.items() if path in notebook.own}
    sandbox = grader.pool.persistent(replace(environment, files=(file, *others)))
    box = sandbox.open(limits, seed=grader.seed, files=own)
    try:
        for cell in key.submissions[notebook.name].cells:
            if isinstance(cell, Cell) and cell.source.strip():
                box.run_cell(cell.source, seconds=limits.cell_seconds)
        look = f"import coursecheck\n{_NAME} = coursecheck.failing(globals(), {list(questions)!r})"
        box.run_cell(look, seconds=limits.cell_seconds)
        read = Scenario("visible", (Call(_NAME, read=True),))
        observed = box.ask((read,), seconds=limits.call_seconds)[0][0]
    except SandboxError as error:
        return [f"{', '.join(questions)}: could not be run: {error}"]
    finally:
        box.close()
    if not observed.ok or not isinstance(observed.value, list | tuple):
        return [f"{', '.join(questions)}: could not be run: {observed.error} {observed.message}"]
    return [str(line) for line in observed.value]
