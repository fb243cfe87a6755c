"""Examine one formula for authors of questions, in the same way as an answer is graded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core.errors import RubricError
from autograder.core.records import Answer, ItemResult, Message, Status
from autograder.course import Course
from autograder.formulas import Unreadable, to_latex, to_mathml, to_text
from autograder.formulas.nodes import Tree
from autograder.messages import list_languages, render_message
from autograder.messages.parse_errors import describe_unreadable
from autograder.pages.feedback.typeset import render_caret
from autograder.questions.base.base import SAMPLE, Draw, Evidence
from autograder.questions.base.values.literal import NoFormula
from autograder.questions.formula import FormulaCheck
from autograder.questions.formula.answers import read_answer
from autograder.questions.formula.formula_key import prepare_question
from autograder.rubric import AssignmentSettings, Item, Question, Rubric, RubricSymbol

__all__ = ["FormulaReport", "FormulaTask", "check_formula", "from_options", "from_rubric", "list_languages"]

ANSWER = "answer"
_NOTHING: Mapping[str, str] = {"relation": "0 = 0", "asymptotic": "1"}
"""Form → a placeholder to compare with if no formula is given; "0" for other forms."""


class FormulaTask(Struct, frozen=True):
    """A question with the item that the formula answers."""

    rubric: Rubric
    question: Question
    item: str
    judged: bool = True
    """Whether there is a right answer to compare with."""
    draw: Draw | None = None
    """The course's draw of evaluation points. Without one, formulas are compared at fixed, public points."""
    earlier: Mapping[str, ItemResult] = {}
    """Results of earlier items, by ``"question.item"``; missing ones count as right."""


class FormulaReport(Struct, frozen=True):
    """Result of examining a formula.

    Attributes:
        verdict: ``"read"``, ``"equal"``, ``"different"``, ``"unreadable"`` or ``"undecided"``.
        reading: the interpretation, as plain text.
        latex: the same as LaTeX.
        mathml: the same as MathML, for a web page.
        points: points that it earns, for a question of a rubric; 0 is not shown.
        message: the message to the student.
        code: the stable name of the message.
        staff: the message to staff.
        caret: the formula and a caret below the position of an error.
    """

    verdict: str
    reading: str = ""
    latex: str = ""
    mathml: str = ""
    points: str = ""
    message: str = ""
    code: str = ""
    staff: str = ""
    caret: str = ""


def from_options(symbols: str, assume: Sequence[str], equals: Sequence[str], form: str) -> FormulaTask:
    """Make a question from the options of the command.

    Raises:
        RubricError: a symbol, relation or formula among them is not readable.
    """
    declared = dict(_parse_symbol(part.strip()) for part in symbols.split(",") if part.strip())
    relations = {f"assumption {number}": text for number, text in enumerate(assume, start=1)}
    options = {"form": form, "accept": list(equals) or [_NOTHING.get(form, "0")], "assume": list(relations)}
    item = Item("formula", Decimal(1), {"en": "formula"}, options=options)
    question = Question("formula", "formula", Decimal(1), (item,), answer=ANSWER, answer_cell="cell")
    assignment = AssignmentSettings("formulas", Decimal(1), symbols=declared, assume=relations)
    return FormulaTask(Rubric(1, assignment, (question,), ""), question, item.id, judged=bool(equals))


def from_rubric(
    course: Path, name: str, question_id: str, item_id: str, earlier: Sequence[str] = ()
) -> FormulaTask:
    """Return a question of a rubric. Its reference is not run, because that takes a sandbox.

    Args:
        course: the course folder.
        name: of the rubric.
        question_id: the question.
        item_id: the item; empty: the first that reads a formula.
        earlier: answers to earlier items, ``"question.item=formula"``, in the order of the rubric.

    Raises:
        CourseError: there is no such rubric.
        RubricError: it is not readable, or has no such question or item with right answers in the rubric.
    """
    where = Course.from_folder(course)
    rubric = rubrics.load_rubric(where.locate_rubric(name))
    # Looking at a formula must not make the secret of a course that has none yet.
    secret = where.load_secret() if (where.private / "secret").exists() else b""
    results: dict[str, ItemResult] = {}
    # In the order of the rubric, because an earlier answer may depend on those before it.
    for spelled in earlier:
        item_path, _, text = spelled.partition("=")
        before, _, item = item_path.strip().partition(".")
        task = _select_item(rubric, before, item, secret)
        results[f"{before}.{task.item}"] = _judge_answer(
            text.strip(), msgspec.structs.replace(task, earlier=results)
        )
    return msgspec.structs.replace(_select_item(rubric, question_id, item_id, secret), earlier=results)


def _select_item(rubric: Rubric, question_id: str, item_id: str, secret: bytes) -> FormulaTask:
    """Return an item of a rubric, with the reference of its question removed."""
    name = rubric.assignment.name
    formula_questions = [question.id for question in rubric.questions if question.kind == "formula"]
    if question_id not in formula_questions:
        raise RubricError(
            f"{name}: no formula question {question_id!r}; known are: {', '.join(formula_questions)}"
        )
    # Without a reference, right answers come from ``accept`` only, and no sandbox is needed.
    question = msgspec.structs.replace(rubric.get_question(question_id), reference="")
    items = [item.id for item in question.items if not item.manual and item.options.get("accept")]
    if not items or (item_id and item_id not in items):
        listed = ", ".join(items) or "none"
        raise RubricError(
            f"{name}: {question_id}: no item {item_id!r} with accept = […]; known are: {listed}"
        )
    draw = Draw.from_secret(secret, rubric, question) if secret else None
    return FormulaTask(rubric, question, item_id or items[0], draw=draw)


def check_formula(text: str, task: FormulaTask, language: str) -> FormulaReport:
    """Read a formula, and judge it if there is a right answer to compare it with."""
    question = prepare_question(task.question, task.rubric, task.draw or SAMPLE)
    prepared = question.items[task.item]
    try:
        sides = read_answer(text, prepared.form, question.spoken)
    except NoFormula:
        return _make_refusal(describe_unreadable(Unreadable("empty", 0), text), language)
    except Unreadable as error:
        return _make_refusal(describe_unreadable(error, text), language)
    shown = _render_formula(sides)
    if not task.judged:
        return msgspec.structs.replace(shown, verdict="read")
    result = _judge_answer(text, task)
    verdict = {Status.PASSED: "equal", Status.FAILED: "different"}.get(result.status, "undecided")
    silent = result.student.code == "passed"
    return msgspec.structs.replace(
        shown,
        verdict=verdict,
        points=f"{result.points.normalize():f}" if task.rubric.digest and result.points else "",
        message="" if silent else render_message(result.student, language),
        code=result.code,
        staff="" if silent else result.staff,
    )


def _judge_answer(text: str, task: FormulaTask) -> ItemResult:
    """Judge an answer to one item while the other items of the question have no answer."""
    check = FormulaCheck(task.question, task.rubric)
    items = prepare_question(task.question, task.rubric, task.draw or SAMPLE).items
    # The check expects an assignment for every item of the question; the other items stay empty.
    written = dict.fromkeys((item.answer for item in items.values()), "") | {items[task.item].answer: text}
    # repr quotes the formula safely, whatever characters it contains.
    source = "\n".join(f"{name} = {value!r}" for name, value in written.items())
    answer = Answer(task.question.answer_cell, "code", source, changed=True)
    results = check.judge(Evidence(answer, (), draw=task.draw, earlier=task.earlier))
    return next(result for result in results if result.item == task.item)


def _make_refusal(message: Message, language: str) -> FormulaReport:
    return FormulaReport(
        "unreadable",
        message=render_message(message, language),
        code=message.code,
        caret=render_caret(message.params),
    )


def _render_formula(sides: Sequence[Tree]) -> FormulaReport:
    return FormulaReport(
        "",
        reading=" = ".join(map(to_text, sides)),
        latex=" = ".join(map(to_latex, sides)),
        mathml=" ".join(map(to_mathml, sides)),
    )


def _parse_symbol(text: str) -> tuple[str, RubricSymbol]:
    """Parse ``d_model:d:D=real`` into the name, its other spellings and its domain."""
    spellings, _, domain = text.partition("=")
    name, *aliases = (spelling.strip() for spelling in spellings.split(":"))
    if len(name.split()) > 1:
        raise RubricError(f"symbols are separated by commas, not by blanks: {text!r}")
    return name, RubricSymbol(domain.strip() or "positive integer", tuple(aliases))
