"""The kind ``shape``: sizes, axis by axis, as numbers or symbols, with a diagnosis in words."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from autograder.core.errors import RubricError
from autograder.core.records import ItemResult, Message, OpaqueValue, Tensor
from autograder.core.stream import derive_key
from autograder.core.wording import has_decimal_comma
from autograder.formulas import FormulaError, Undecided, Unreadable, to_text
from autograder.formulas.equality.compare import Comparer
from autograder.formulas.nodes import Node, Num, Relation, Sym, Tuple
from autograder.formulas.notation.formula_lists import parse_single
from autograder.formulas.shapes import Axes, read_shape, read_size
from autograder.formulas.values.points import Points
from autograder.messages.parse_errors import describe_unreadable
from autograder.questions.base.base import SAMPLE, Draw, Evidence
from autograder.questions.base.compared import ComparedCheck
from autograder.questions.base.judging.results import (
    Finding,
    make_failure,
    make_no_answer,
    make_review,
    make_unreadable,
)
from autograder.questions.base.kind import Kind
from autograder.questions.base.options import AnswerItem, ComparedOptions, locate_question, read_item_options
from autograder.questions.base.planning.targets import is_unwritten_value
from autograder.questions.base.values import shape_differences as shapes
from autograder.questions.base.values.arrays import read_integer
from autograder.questions.base.values.quoting import describe_type, quote_integer, quote_shape, quote_text
from autograder.questions.base.values.shape_differences import Roles, ShapeDifference
from autograder.rubric import Item, Question, Rubric

MAX_AXES = 16
MAX_DRAWS = 4
"""Draws for which the check is kept prepared; grading has one."""
MOST_WRITTEN_BITS = 400

_OWN_CODES = ("placeholder", "ellipsis", "no-size")


class ShapeQuestion(ComparedOptions, frozen=True):
    """Options of a ``shape`` question."""


class ShapeItem(AnswerItem, frozen=True):
    """Options of an item of a ``shape`` question."""

    value: tuple[int | str, ...] | None = None
    """The right sizes: numbers, or formulas in the assignment's symbols."""
    accept: tuple[tuple[int | str, ...], ...] = ()
    """Further right shapes."""
    axes: tuple[str, ...] = ()
    """Names of the axes, for the explanation; ``batch`` and ``heads`` are also understood."""
    assume: tuple[str, ...] = ()
    """Names of relations in ``assignment.assume`` that are granted."""


class ShapeCheck(ComparedCheck[ShapeQuestion, ShapeItem]):
    """A shape that a student writes down."""

    kind: ClassVar[str] = "shape"
    vague: ClassVar[frozenset[str]] = frozenset({"shape.count", "shape.axes", "shape.axis"})
    question_type = ShapeQuestion
    item_type = ShapeItem

    def __init__(self, question: Question, rubric: Rubric) -> None:
        """Validate the options; see `Check`."""
        self._vocabulary = rubric.make_vocabulary(question)
        self._spoken = self._vocabulary.with_notation(
            decimal_comma=has_decimal_comma(rubric.assignment.languages)
        )
        self._relations = rubric.assignment.assume
        self._get_for_draw = functools.lru_cache(MAX_DRAWS)(self._copy_for_draw)
        # Before the options are read, because that compares shapes already.
        self.compare_with(SAMPLE, question)
        super().__init__(question, rubric)

    def compare_with(self, draw: Draw, question: Question) -> None:
        """Compare sizes at the points derived from a draw."""
        points = Points(self._vocabulary.domains, derive_key(draw.seed, "points"))
        self._comparer = Comparer(points)
        self._granted: dict[tuple[str, ...], Comparer] = {}
        self._beyond = self._make_widest(locate_question(question))
        for options in read_item_options(question, ShapeItem).values():
            self._add_comparer(options.assume, locate_question(question))

    def judge(self, evidence: Evidence) -> tuple[ItemResult, ...]:
        """Return one result per item, at the points of the evidence's draw, which is a secret."""
        return super(ShapeCheck, self._get_for_draw(evidence.draw or SAMPLE)).judge(evidence)

    def _copy_for_draw(self, draw: Draw) -> ShapeCheck:
        # The copy shares the options; only its comparers depend on the draw.
        check = copy.copy(self)
        check.compare_with(draw, self.question)
        return check

    def read_value(self, value: Any, item: Item, label: str) -> tuple[Any, Finding | None]:
        """Return the axes as formulas; plain sizes are numbers."""
        shape = value.array if isinstance(value, Tensor) else value
        if isinstance(shape, np.ndarray):
            return tuple(Num(int(size)) for size in shape.shape), None
        if isinstance(value, OpaqueValue) and value.text:  # a sympy tuple
            value = value.text
        if is_unwritten_value(value):
            return None, make_no_answer()
        try:
            if isinstance(value, str):
                return read_shape(value, self._spoken), None
            if isinstance(value, list | tuple):
                return self._read_entries(value, label)
            if read_integer(value) is not None and self._has_one_axis(item):
                return self._read_entries((value,), label)
        except Unreadable as error:
            return None, _report_unreadable(
                error, value if isinstance(value, str) else self._find_unreadable(value), label
            )
        form = describe_type(value)
        return None, make_unreadable(Message("shape.form", {"what": label, "form": form}), f"{label}: {form}")

    def _has_one_axis(self, item: Item) -> bool:
        """Return whether a number alone may be the shape: in Python, ``(768)`` is a number."""
        sizes = self.items[item.id].value
        return sizes is not None and len(sizes) == 1

    def find_difference(self, actual: Any, right: Any, item: Item, label: str) -> Finding | None:
        """Compare axis by axis; the explanation never names a right size."""
        try:
            difference = self._compute_difference(actual, right, self._find_roles(item, right), item)
        except Undecided:
            return make_review(
                f"{label}: could not decide {_format_shape(actual)} against {_format_shape(right)}"
            )
        if difference is None:
            return None
        names = self.items[item.id].axes if len(actual) == len(right) else ()
        named = [names[axis] if axis < len(names) else f"#{axis + 1}" for axis in difference.axes]
        shape = _format_shape(actual)
        staff = f"{label}: {shape}, expected {_format_shape(right)}"
        params = {"what": label, "shape": shape, "count": str(len(actual))}
        return make_failure(f"shape.{difference.code}", staff, **params, axes=", ".join(named))

    def make_wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Yield the shape with two axes swapped, one missing, and one too many."""
        del item
        for axis in range(len(right)):
            if axis:
                swapped = (*right[: axis - 1], right[axis], right[axis - 1], *right[axis + 1 :])
                yield f"axes {axis} and {axis + 1} swapped", to_text(Tuple(swapped))
            if len(right) > 1:
                yield f"axis {axis + 1} missing", to_text(Tuple((*right[:axis], *right[axis + 1 :])))
        yield "an axis more", to_text(Tuple((Num(1), *right)))

    def make_other_spellings(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """Yield the shape as a text."""
        del item
        yield "as a text", to_text(Tuple(right))

    def describe_reading(self, value: Any) -> str:
        """Return the shape as it was read, if it contains symbols."""
        return "" if all(isinstance(axis, Num) for axis in value) else to_text(Tuple(value))

    def list_diagnoses(self, item: Item) -> frozenset[str]:
        """Return every difference that can be recognised for this item's shapes, and every family."""
        options = self.items[item.id]
        sizes = options.value or (1,) * len(options.axes)
        roles = self._find_roles(item, tuple(Num(1) for _ in sizes))
        unknown = shapes.NEEDS_HEADS if roles.head_count is None else frozenset()
        if roles.batch < 0:
            unknown |= {"batch-missing"}
        return (shapes.DIFFERENCES | shapes.FAMILIES.keys()) - unknown

    def is_diagnosed(self, code: str, finding: Finding) -> bool:
        """Return whether the code is that of the finding, or of its family."""
        return finding.code.removeprefix("shape.") in shapes.expand_family(code)

    def _check_item(self, item: Item, options: ShapeItem) -> None:
        where = locate_question(self.question, item)
        if options.axes and options.value is not None and len(options.axes) != len(options.value):
            raise RubricError("one name for each entry of value is needed", where, "axes")
        self._add_comparer(options.assume, where)
        super()._check_item(item, options)

    def _make_widest(self, where: str) -> Comparer:
        """Return the comparer under every relation, for explanations.

        Under none if they contradict one another.
        """
        try:
            return self._comparer.with_assumptions(
                [self._parse_relation(name, where) for name in self._relations]
            )
        except FormulaError:
            return self._comparer

    def _parse_relation(self, name: str, where: str) -> Relation:
        if name not in self._relations:
            names = ", ".join(self._relations) or "none"
            raise RubricError(f"no relation {name!r}; known are: {names}", where, "assume")
        try:
            return parse_single(self._relations[name], self._vocabulary)
        except Unreadable as error:
            raise RubricError(f"[assignment.assume] {name}: not readable: {error}", where) from error

    def _add_comparer(self, assume: tuple[str, ...], where: str) -> None:
        """Make the comparer for a set of relations, once."""
        if assume in self._granted:
            return
        try:
            self._granted[assume] = self._comparer.with_assumptions(
                [self._parse_relation(name, where) for name in assume]
            )
        except FormulaError as error:
            raise RubricError(f"{error}", where, "assume") from error

    def _compute_difference(
        self, actual: Axes, right: Axes, roles: Roles, item: Item
    ) -> ShapeDifference | None:
        """Return the difference under the granted relations, explained under all relations."""
        granted = self._granted[self.items[item.id].assume]
        difference = shapes.find_difference(actual, right, _make_equal(granted), roles)
        if difference is None or not self._relations:
            return difference
        try:
            # Equal under all relations, but not under the granted ones: a relation was used too early.
            return shapes.find_difference(actual, right, _make_equal(self._beyond), roles) or ShapeDifference(
                "early"
            )
        except Undecided:
            return difference

    def _find_roles(self, item: Item, right: Axes) -> Roles:
        """Return the roles of the axes of a right shape, by the rubric's names, sizes and symbols."""
        options = self.items[item.id]
        named = options.axes if len(options.axes) == len(right) else ()
        sizes = options.value if options.value is not None and len(options.value) == len(right) else ()
        names = [
            (
                *named[axis : axis + 1],
                *self._list_spellings(sizes[axis : axis + 1]),
                *self._list_spellings((size,)),
            )
            for axis, size in enumerate(right)
        ]
        return shapes.find_roles(names, right, shapes.find_head_count(self._vocabulary))

    def _list_spellings(self, sizes: Sequence[int | str | Node]) -> list[str]:
        """Return every name of a size that is a symbol."""
        names: list[str] = []
        for size in sizes:
            name = size.name if isinstance(size, Sym) else size
            if isinstance(name, str):
                declared = self._vocabulary.names.get(name, name)
                names += (name, *(other for other, of in self._vocabulary.names.items() if of == declared))
        return names

    def _read_entries(self, entries: Sequence[Any], label: str) -> tuple[Any, Finding | None]:
        if len(entries) > MAX_AXES:
            params = {"what": label, "limit": str(MAX_AXES)}
            return None, make_failure("shape.axis-count", f"{label}: {len(entries)} entries", **params)
        axes: list[Node] = []
        for entry in entries:
            axis = self._read_axis(entry)
            if axis is None:
                params = {"what": label, "form": describe_type(entry)}
                return None, make_unreadable(
                    Message("shape.entry", params), f"{label}: entry {params['form']}"
                )
            axes.append(axis)
        return tuple(axes), None

    def _find_unreadable(self, entries: Sequence[Any]) -> str:
        """Return the first entry that is not readable, as text."""
        for entry in entries:
            try:
                self._read_axis(entry)
            except Unreadable:
                return entry if isinstance(entry, str) else str(getattr(entry, "text", entry))
        return ""

    def _read_axis(self, entry: Any) -> Node | None:
        """Return one entry as a formula; None if its type cannot be one.

        Raises:
            Unreadable: it is a text that is not in the grammar, or a size left open.
        """
        if entry is None or (isinstance(entry, OpaqueValue) and entry.type_name == "ellipsis"):
            raise Unreadable("placeholder" if entry is None else "ellipsis", 0, sign=str(entry or "..."))
        text = entry.text if isinstance(entry, OpaqueValue) else entry
        size = read_integer(entry)
        if size is None:
            return read_size(text, self._spoken) if isinstance(text, str) and text else None
        if size < 0:
            # -1 leaves a size open, as in `view` and `reshape`.
            code = "placeholder" if size == -1 else "no-size"
            raise Unreadable(code, 0, sign="-1", value=quote_integer(size))
        return Num(size)


def _make_equal(comparer: Comparer) -> shapes.Equal:
    def is_equal(first: Node, second: Node) -> bool:
        if isinstance(first, Num) and isinstance(second, Num):
            return first.value == second.value
        return comparer.is_equal(first, second)

    return is_equal


def _report_unreadable(error: Unreadable, text: str, label: str) -> Finding:
    """Return why a text is no shape: with a sentence about shapes, or about formulas, with a caret."""
    staff = f"{label}: not readable: {error}"
    if error.code in _OWN_CODES:
        params = {"what": label, "value": quote_text(text), **error.params}
        return make_unreadable(Message(f"shape.{error.code}", params), staff)
    return make_unreadable(describe_unreadable(error, text), staff)


def _format_shape(axes: Axes) -> str:
    """Return a shape as text, at bounded cost."""
    if all(isinstance(axis, Num) and isinstance(axis.value, int) for axis in axes):
        return quote_shape(axis.value for axis in axes if isinstance(axis, Num))
    if any(isinstance(axis, Num) and int(axis.value).bit_length() > MOST_WRITTEN_BITS for axis in axes):
        return f"({len(axes)} axes)"
    return quote_text(to_text(Tuple(axes)))


KIND = Kind(ShapeCheck, form="shape")
