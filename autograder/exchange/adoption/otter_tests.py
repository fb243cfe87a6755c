"""otter's tests: cells of a source. They are never run here."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from autograder.core.errors import CourseError
from autograder.core.syntax import UNREADABLE, parse_module
from autograder.exchange.adoption.otter_settings import read_yaml
from autograder.exchange.adoption.records import FoundTest

Stated = int | float | list[Any] | dict[str, Any] | None
"""Forms in which otter accepts the points of a question."""
_BEGIN = re.compile(r"(?:.\s*=\s*)?\"\"?\"?\s*#\s*BEGIN\s*TEST\s*CONFIG", re.IGNORECASE)
_END = re.compile(r"\"\"?\"?\s*#\s*END\s*TEST\s*CONFIG", re.IGNORECASE)
_CONTINUES = re.compile(r"\s|except[\s\w]*:|elif |else:|finally:")
_SMALLEST = Decimal("0.000001")
"""Rounding unit in points, for parts such as a third of a point."""


class OtterCase(Struct, frozen=True):
    """One test case, with its points as written."""

    code: str
    doctest: bool
    hidden: bool = False
    points: float | None = None
    success: str = ""
    failure: str = ""
    outside: str = ""


def parse_cell(source: str, output: str, *, ok_format: bool, label: str) -> OtterCase:
    """Parse one cell of a tests block.

    Args:
        source: of the cell.
        output: output below the cell, which a doctest expects.
        ok_format: whether the assignment's tests are doctests.
        label: for errors.

    Raises:
        CourseError: the cell is not Python, or its head is not YAML.
    """
    lines = source.split("\n")
    hidden = lines[0].lstrip().startswith("#") and bool(re.search(r"\bhidden\b", lines[0], re.IGNORECASE))
    config: dict[str, Any] = {}
    start = 1 if hidden else 0
    if _BEGIN.match(lines[0]):
        end = next((index for index, line in enumerate(lines) if _END.match(line)), len(lines))
        config, start = read_yaml("\n".join(lines[1:end]), label), end + 1
    tree = _parse_tree("\n".join(lines[start:]), label)
    case = (
        OtterCase(_to_doctest(tree, output), doctest=True) if ok_format else _to_exception_test(tree, label)
    )
    return OtterCase(
        case.code,
        case.doctest,
        bool(config.get("hidden", hidden)),
        config.get("points"),
        str(config.get("success_message") or ""),
        str(config.get("failure_message") or ""),
        case.outside,
    )


def resolve_points(
    cases: Sequence[OtterCase], total_points: Stated, label: str
) -> tuple[Decimal, tuple[FoundTest, ...]]:
    """Return a question's points and its tests, divided as otter does; rounding errors go to the last tests.

    Raises:
        CourseError: the cases have more points than the question, or points are missing for some of them.
    """
    case_points = [case.points for case in cases]
    if isinstance(total_points, dict):
        total_points = total_points.get("each", 1) * len(cases)
    if isinstance(total_points, list):
        if len(total_points) != len(cases):
            raise CourseError(
                f"{label}: points: {len(total_points)} are stated, but there are {len(cases)} tests"
            )
        case_points, total_points = list(total_points), None
    decimals = [None if case_value is None else Decimal(str(case_value)) for case_value in case_points]
    before = sum((case_value for case_value in decimals if case_value is not None), Decimal(0))
    total = (
        before
        if total_points is None and before
        else Decimal(str(1 if total_points is None else total_points))
    )
    # Explicit zeros everywhere: the question has no points, rather than the default of 1.
    if total_points is None and not before and None not in decimals:
        total = Decimal(0)
    if before > total:
        raise CourseError(f"{label}: points: {total} are stated, but its tests have {before}")
    left, opened = total - before, decimals.count(None)
    if not opened:
        total = before
    points = []
    for case_value in decimals:
        part = case_value
        if part is None:
            # Dividing the remaining points each time keeps the sum exact.
            part = (left / opened).quantize(_SMALLEST)
            left, opened = left - part, opened - 1
        points.append(part)
    tests = tuple(
        FoundTest(
            f"test-{number}",
            case.code,
            worth,
            case.doctest,
            not case.hidden,
            case.success,
            case.failure,
            case.outside,
        )
        for number, (case, worth) in enumerate(zip(cases, points, strict=True), start=1)
    )
    return total, tests


def _to_doctest(tree: ast.Module, output: str) -> str:
    """Return the doctest that otter makes of a cell, with the output that was saved in the source."""
    # otter's unparsed code has no annotations.
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            if getattr(node, name, None) is not None:
                setattr(node, name, None)
    lines: list[str] = []
    for line in filter(None, ast.unparse(tree).split("\n")):
        inside = _CONTINUES.match(line) or (lines and lines[-1].strip().endswith("\\"))
        lines.append(f"{'...' if inside else '>>>'} {line}")
    return "\n".join([*lines, *output.split("\n")])


def _to_exception_test(tree: ast.Module, label: str) -> OtterCase:
    """Return the test function with its call; each parameter is a name of the notebook."""
    function = tree.body[0] if tree.body else None
    if not isinstance(function, ast.FunctionDef):
        raise CourseError(f"{label}: expected a function, since the assignment's tests are not OK_FORMAT")
    names = [parameter.arg for parameter in function.args.args]
    outside = ""
    if "env" in names:
        entries = _EnvRewriter()
        function = entries.visit(function)
        function.args.args = [parameter for parameter in function.args.args if parameter.arg != "env"]
        names.remove("env")
        outside = "it asks for all names of the notebook (env)" if entries.others else ""
    code = ast.unparse(ast.fix_missing_locations(function))
    return OtterCase(f"{code}\n\n{function.name}({', '.join(names)})", doctest=False, outside=outside)


class _EnvRewriter(ast.NodeTransformer):
    """Replaces ``env["name"]`` by the name; computed keys and lookups use ``globals()`` instead."""

    def __init__(self) -> None:
        self.others = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace an entry that is read."""
        key = node.slice
        plain = isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier()
        if _is_env(node.value) and plain:
            return ast.copy_location(ast.Name(key.value, node.ctx), node)  # type: ignore[attr-defined]
        if _is_env(node.value) and isinstance(node.ctx, ast.Load):
            node.value = _make_globals_call()
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Replace tests for the presence of a name."""
        node.comparators = [
            _make_globals_call() if _is_env(operand) and isinstance(operator, ast.In | ast.NotIn) else operand
            for operator, operand in zip(node.ops, node.comparators, strict=True)
        ]
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace ``env.get``."""
        if _is_env(node.value) and node.attr == "get":
            node.value = _make_globals_call()
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Record any other use."""
        self.others = self.others or node.id == "env"
        return node


def _is_env(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "env"


def _make_globals_call() -> ast.expr:
    """Return a call of ``globals()``: in the judge's sandbox, names of the test, or else of the student."""
    return ast.Call(ast.Name("globals", ast.Load()), [], [])


def _parse_tree(source: str, label: str) -> ast.Module:
    try:
        return parse_module(source)
    except UNREADABLE as error:
        raise CourseError(f"{label}: a test is no Python: {error}") from error
