"""Test the tests of an adopted assignment: find mutants of its answer key that they let pass.

Each mutant has one small mistake; the same source always has the same mutants. The source is never run here.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import libcst as cst
from msgspec import Struct
from msgspec.structs import replace

from autograder.core.records import Status
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.grading.assignment import Assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.verify.matrix import Mark, MutatedCell, Survivor
from autograder.grading.verify.papers import AnswerKey, with_sources
from autograder.questions import make_check
from autograder.rubric import Question

_COMPARISONS: Mapping[type[cst.BaseCompOp], type[cst.BaseCompOp]] = {
    cst.LessThan: cst.LessThanEqual,
    cst.LessThanEqual: cst.LessThan,
    cst.GreaterThan: cst.GreaterThanEqual,
    cst.GreaterThanEqual: cst.GreaterThan,
    cst.Equal: cst.NotEqual,
    cst.NotEqual: cst.Equal,
    cst.In: cst.NotIn,
    cst.NotIn: cst.In,
    cst.Is: cst.IsNot,
    cst.IsNot: cst.Is,
}
# Each operator becomes one of the same or a lower precedence, so that no operand changes its owner.
_OPERATORS: Mapping[type[cst.BaseBinaryOp], type[cst.BaseBinaryOp]] = {
    cst.Add: cst.Subtract,
    cst.Subtract: cst.Add,
    cst.Multiply: cst.Divide,
    cst.Divide: cst.Multiply,
    cst.FloorDivide: cst.Divide,
    cst.Modulo: cst.FloorDivide,
    cst.Power: cst.Multiply,
}
_MESSAGE_CALLS = frozenset({"print", "display", "warn", "input"})
"""Functions that take texts for people; a changed message is no mistake."""
_SYMMETRIC_CALLS = frozenset(
    {"max", "min", "maximum", "minimum", "multiply", "add", "isclose", "allclose", "transpose", "swapaxes"}
)
"""Functions that give the same result if their first two arguments are swapped."""


class Mutant(Struct, frozen=True):
    """A source with one mistake."""

    source: str
    """The whole text."""
    line: int
    """The first line that differs, from 1."""
    before: str
    """This line in the original source."""
    after: str
    """This line in the mutant."""
    mistake: str
    """The change in a few words."""


class _Edit(Struct, frozen=True, eq=False):
    node: cst.CSTNode
    replacement: cst.CSTNode
    mistake: str


def generate_mutants(source: str, limit: int) -> tuple[Mutant, ...]:
    """Return at most `limit` mutants of a source, spread over kinds of mistakes and over the text.

    Source that is not valid Python has none.
    """
    try:
        original = ast.dump(parse_module(source))
        module = cst.parse_module(source)
    except (*UNREADABLE, cst.ParserSyntaxError):
        return ()
    collector = _EditCollector()
    module.visit(collector)
    by_mistake: dict[str, list[_Edit]] = {}
    for edit in collector.edits:
        by_mistake.setdefault(edit.mistake, []).append(edit)
    # In turns, so that a small limit still covers every kind of mistake.
    in_turns = itertools.chain(*itertools.zip_longest(*map(_order_evenly, by_mistake.values())))
    mutants: dict[str, Mutant] = {}
    for edit in filter(None, in_turns):
        if len(mutants) >= limit:
            break
        mutant = _apply_edit(module, source, edit)
        if mutant is not None and _is_different_program(mutant.source, original):
            mutants.setdefault(mutant.source, mutant)
    return tuple(sorted(mutants.values(), key=lambda mutant: (mutant.line, mutant.mistake, mutant.after)))


def _order_evenly(edits: Sequence[_Edit]) -> list[_Edit]:
    """Order edits so that every prefix of the list covers the whole text: the middle, then the halves."""
    if len(edits) < 3:
        return list(edits)
    middle = len(edits) // 2
    halves = itertools.zip_longest(_order_evenly(edits[:middle]), _order_evenly(edits[middle + 1 :]))
    return [edits[middle], *(edit for pair in halves for edit in pair if edit is not None)]


def _apply_edit(module: cst.Module, source: str, edit: _Edit) -> Mutant | None:
    changed = module.deep_replace(edit.node, edit.replacement)
    text = changed.code if isinstance(changed, cst.Module) else source
    lines = zip(source.split("\n"), text.split("\n"), strict=False)
    for number, (before, after) in enumerate(lines, start=1):
        if before != after:
            return Mutant(text, number, before.strip(), after.strip(), edit.mistake)
    return None


def _is_different_program(source: str, original: str) -> bool:
    try:
        # A change of the text alone, such as other brackets, is the same program.
        return ast.dump(parse_module(source)) != original
    except UNREADABLE:
        return False


class _EditCollector(cst.CSTVisitor):
    """Collect the edits of a module in the order of its text; texts for people are left unchanged."""

    def __init__(self) -> None:
        super().__init__()
        self.edits: list[_Edit] = []
        self._functions = 0
        self._elifs: set[cst.If] = set()

    def _add_edit(self, node: cst.CSTNode, replacement: cst.CSTNode, mistake: str) -> None:
        self.edits.append(_Edit(node, replacement, mistake))

    # Annotations, default values, decorators and messages do not decide a result of correct code.

    def visit_Annotation(self, node: cst.Annotation) -> bool:
        return False

    def visit_Parameters(self, node: cst.Parameters) -> bool:
        return False

    def visit_Decorator(self, node: cst.Decorator) -> bool:
        return False

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return False

    def visit_Raise(self, node: cst.Raise) -> bool:
        if self._functions:
            self._add_edit(node, cst.Pass(), "a statement is dropped")
        return False

    def visit_Expr(self, node: cst.Expr) -> bool:
        if isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
            return False
        if isinstance(node.value, cst.Call) and _get_last_name(node.value) in _MESSAGE_CALLS:
            return False
        if self._functions:
            self._add_edit(node, cst.Pass(), "a statement is dropped")
        return True

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._functions += 1

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        self._functions -= 1

    # Statements.

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if self._functions:
            self._add_edit(node, cst.Pass(), "a statement is dropped")

    def visit_If(self, node: cst.If) -> None:
        self._drop_block(node)
        # An elif cannot be replaced by a statement, so a chain is dropped only as a whole.
        if isinstance(node.orelse, cst.If):
            self._elifs.add(node.orelse)

    def visit_For(self, node: cst.For) -> None:
        self._drop_block(node)

    def visit_While(self, node: cst.While) -> None:
        self._drop_block(node)

    def visit_Return(self, node: cst.Return) -> None:
        is_none = isinstance(node.value, cst.Name) and node.value.value == "None"
        if node.value is not None and not is_none:
            nothing = node.with_changes(
                value=cst.Name("None"), whitespace_after_return=cst.SimpleWhitespace(" ")
            )
            self._add_edit(node, nothing, "nothing is returned")

    def _drop_block(self, node: cst.If | cst.For | cst.While) -> None:
        if self._functions and node not in self._elifs:
            line = cst.SimpleStatementLine([cst.Pass()], leading_lines=node.leading_lines)
            self._add_edit(node, line, "a statement is dropped")

    # Expressions.

    def visit_Comparison(self, node: cst.Comparison) -> None:
        for position, target in enumerate(node.comparisons):
            other = _COMPARISONS.get(type(target.operator))
            if other is not None:
                changed = list(node.comparisons)
                changed[position] = target.with_changes(operator=other())
                self._add_edit(node, node.with_changes(comparisons=changed), "another comparison")

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        other = _OPERATORS.get(type(node.operator))
        if other is not None:
            self._add_edit(node.operator, other(), "another operator")
        if isinstance(node.operator, cst.MatrixMultiply):
            swapped = node.with_changes(left=node.right, right=node.left)
            self._add_edit(node, swapped, "operands are swapped")

    def visit_BooleanOperation(self, node: cst.BooleanOperation) -> None:
        other = cst.Or() if isinstance(node.operator, cst.And) else cst.And()
        # Brackets keep the operands together: `or` binds weaker than `and`.
        brackets = node if node.lpar else node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        self._add_edit(node, brackets.with_changes(operator=other), "and for or")

    def visit_UnaryOperation(self, node: cst.UnaryOperation) -> None:
        if isinstance(node.operator, cst.Not | cst.Minus):
            self._add_edit(node, node.expression, "a sign or a not is missing")

    def visit_Integer(self, node: cst.Integer) -> None:
        self._add_edit(node, cst.Integer(str(node.evaluated_value + 1)), "off by one")

    def visit_Float(self, node: cst.Float) -> None:
        value = node.evaluated_value
        # Doubled, because a small change could stay within a test's tolerance.
        self._add_edit(node, cst.Float(repr(value * 2 if value else 1.0)), "another constant")

    def visit_SimpleString(self, node: cst.SimpleString) -> None:
        value = node.evaluated_value
        if isinstance(value, str) and value:
            self._add_edit(node, cst.SimpleString(repr(value + "x")), "another constant")

    def visit_Name(self, node: cst.Name) -> None:
        if node.value in ("True", "False"):
            self._add_edit(node, cst.Name("False" if node.value == "True" else "True"), "another constant")

    def visit_Call(self, node: cst.Call) -> bool:
        if _get_last_name(node) in _MESSAGE_CALLS:
            return False
        positional = [argument for argument in node.args if argument.keyword is None]
        is_starred = any(argument.star for argument in node.args)
        if len(positional) > 1 and not is_starred and _get_last_name(node) not in _SYMMETRIC_CALLS:
            first, second, *remaining = node.args
            swapped = (first.with_changes(value=second.value), second.with_changes(value=first.value))
            self._add_edit(node, node.with_changes(args=[*swapped, *remaining]), "arguments are swapped")
        for argument in node.args:
            if argument.keyword is not None:
                kept = [kept_argument for kept_argument in node.args if kept_argument is not argument]
                if kept:
                    kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
                self._add_edit(node, node.with_changes(args=kept), "an argument is missing")
        return True


def _get_last_name(call: cst.Call) -> str:
    """Return the last part of the called name: ``warn`` of ``warnings.warn(…)``; empty for other calls."""
    if isinstance(call.func, cst.Attribute):
        return call.func.attr.value
    return call.func.value if isinstance(call.func, cst.Name) else ""


MUTANTS_PER_CELL = 20
"""Limit on mutants per answer cell."""
# A mutant may loop forever: its tests get five times the time of the whole answer key, at least two seconds.
_LEAST_SECONDS = 2.0
_TIME_FACTOR = 5


class _Plan(Struct, frozen=True):
    """One answer cell, its mutants, and the questions that test it."""

    notebook: str
    cell: str
    tests: tuple[str, ...]
    mutants: tuple[Mutant, ...]


class _Verdict(Struct, frozen=True):
    """Whether a mutant was judged automatically, and the survivor if it passed."""

    is_decided: bool
    survivor: Survivor | None = None


def run_mutants(grader: Grader, key: AnswerKey, workers: int) -> tuple[MutatedCell, ...]:
    """Grade mutants of the answer key with the assignment's own test cells.

    Args:
        grader: the grader of the assignment; without adopted tests the result is empty.
        key: its graded answer key.
        workers: number of mutants that are graded at the same time.
    """
    if not any(question.kind == "tests" for question in grader.assignment.rubric.questions):
        return ()
    runner = _MutantRunner(Grader(_limit_time(grader.assignment, key), grader.pool), key)
    plans = runner.plan_cells()
    with ThreadPoolExecutor(workers) as threads:
        # All mutants of all cells share one pool of threads; their verdicts keep the order of the jobs.
        jobs = [partial(runner.judge_mutant, plan, mutant) for plan in plans for mutant in plan.mutants]
        verdicts = iter(list(threads.map(lambda job: job(), jobs)))
    cells = []
    for plan in plans:
        of_cell = [next(verdicts) for _ in plan.mutants]
        undecided = sum(not verdict.is_decided for verdict in of_cell)
        survivors = tuple(verdict.survivor for verdict in of_cell if verdict.survivor is not None)
        cells.append(
            MutatedCell(plan.notebook, plan.cell, plan.tests, len(plan.mutants), undecided, survivors)
        )
    return tuple(cells)


class _MutantRunner(Struct, frozen=True):
    """Grades mutants of the answer key."""

    grader: Grader
    key: AnswerKey

    def plan_cells(self) -> tuple[_Plan, ...]:
        """Return the answer cells that can be mutated; without own tests, all questions test a cell."""
        plans = []
        rubric = self.grader.assignment.rubric
        for notebook, release in self.grader.assignment.releases.items():
            judged = [
                question
                for question in rubric.questions
                if question.notebook == notebook and self._is_judged(question)
            ]
            for cell in release.cells:
                answer = self.key.submissions[notebook].answers.get(cell.grade_id)
                own_tests = [question.id for question in judged if question.answer_cell == cell.grade_id]
                # A graded cell without own tests is graded manually, so tests need not detect its mutants.
                is_manual = cell.grade and not own_tests
                if answer is None or cell.cell_type != "code" or not cell.is_answer or is_manual:
                    continue
                mutants = generate_mutants(answer.source, MUTANTS_PER_CELL)
                tests = tuple(own_tests or [question.id for question in judged])
                if mutants and tests:
                    plans.append(_Plan(notebook, cell.grade_id, tests, mutants))
        return tuple(plans)

    def judge_mutant(self, plan: _Plan, mutant: Mutant) -> _Verdict:
        """Grade one mutant; if its own tests let it pass, look for another test that detects it."""
        lost, is_open = self._find_lost_questions(plan, mutant, plan.tests)
        if lost or is_open:
            return _Verdict(is_decided=bool(lost))
        other_tests = [
            question.id
            for question in self.grader.assignment.rubric.questions
            if question.notebook == plan.notebook
            and question.id not in plan.tests
            and self._is_judged(question)
        ]
        elsewhere = self._find_lost_questions(plan, mutant, other_tests)[0] if other_tests else ()
        survivor = Survivor(mutant.line, mutant.before, mutant.after, mutant.mistake, elsewhere)
        return _Verdict(is_decided=True, survivor=survivor)

    def _is_judged(self, question: Question) -> bool:
        return question.kind == "tests" and any(
            not item.manual and self.key.marks[f"{question.id}.{item.id}"] is Mark.KEPT
            for item in question.items
        )

    def _find_lost_questions(
        self, plan: _Plan, mutant: Mutant, questions: Sequence[str]
    ) -> tuple[tuple[str, ...], bool]:
        """Return those of the questions that lose points, and whether one needs manual review."""
        notebooks = {
            name: with_sources(data, {plan.cell: mutant.source} if name == plan.notebook else {})
            for name, data in self.key.sources.items()
        }
        # The results of the key are reused for all other questions.
        kept_results = {
            name: tuple(results)
            for name, results in self.key.collect_results().items()
            if name not in questions
        }
        graded = self.grader.grade(
            SubmittedFiles("a mutant of the answer key", notebooks, self.key.files), kept_results
        )
        judged = [
            result
            for result in graded.score.items
            if result.question in questions
            and self.key.marks[f"{result.question}.{result.item}"] is Mark.KEPT
            and not self.grader.assignment.rubric.get_question(result.question).get_item(result.item).manual
        ]
        lost = dict.fromkeys(
            result.question
            for result in judged
            if result.status is not Status.NEEDS_REVIEW and result.points < result.possible
        )
        return tuple(lost), any(result.status is Status.NEEDS_REVIEW for result in judged)


def _limit_time(assignment: Assignment, key: AnswerKey) -> Assignment:
    """Return the assignment with time limits for mutants, which may loop forever."""
    seconds = max(_LEAST_SECONDS, _TIME_FACTOR * key.graded.spent.submission_seconds)
    rubric = assignment.rubric
    questions = tuple(
        replace(
            question,
            items=tuple(
                replace(
                    item, options={**item.options, "seconds": min(seconds, item.options.get("seconds", 30.0))}
                )
                if question.kind == "tests" and not item.manual
                else item
                for item in question.items
            ),
        )
        for question in rubric.questions
    )
    limits = rubric.assignment.limits
    hurried = replace(limits, cell_seconds=min(seconds, limits.cell_seconds))
    rubric = replace(rubric, questions=questions, assignment=replace(rubric.assignment, limits=hurried))
    checks = {question.id: make_check(question, rubric) for question in questions}
    return replace(assignment, rubric=rubric, checks=checks)
