"""The kind ``visibility``: which position sees which, as a matrix or as pairs, judged exactly.

The matrix is written down or returned by a function. What is right is measured by the reference on a real
module (``reference/tracing/visibility.py``), which also knows what misreading an architecture leads to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from autograder.checks.base import Draw, Evidence
from autograder.checks.compared import Compared, ComparedCheck
from autograder.checks.judging.oracle import MistakeValue
from autograder.checks.judging.results import Finding, failed, no_answer, observations_at
from autograder.checks.kind import Kind
from autograder.checks.options import AnswerItem, ComparedOptions
from autograder.checks.planning.targets import ValueTarget, nothing_written, stated
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import quote_integer, quote_shape, type_name
from autograder.messages import sentences
from autograder.records import Answer, Call, Opaque, Ref, Scenario
from autograder.rubric import Item
from autograder.wording import Phrase

AREA = "visibility"
MAX_POSITIONS = 256
_SETS = ("set", "frozenset")
_KEPT = "visible"
_ABOUT_FORM = frozenset(f"{AREA}.{code}" for code in ("form", "entry", "position", "size"))


class VisibilityQuestion(ComparedOptions, frozen=True):
    """Options of a ``visibility`` question."""


class VisibilityItem(AnswerItem, frozen=True):
    """Options of an item of a ``visibility`` question."""

    value: tuple[tuple[int, ...], ...] | None = None
    """The right matrix; without it the reference is asked."""


class VisibilityCheck(ComparedCheck[VisibilityQuestion, VisibilityItem]):
    """Rows are the positions that see, columns those that are seen."""

    kind: ClassVar[str] = "visibility"
    area: ClassVar[str] = AREA
    vague: ClassVar[frozenset[str]] = frozenset({"visibility.rows"})
    question_type = VisibilityQuestion
    item_type = VisibilityItem

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """The variable or the cases; at the end the variable's entries in order, if it is a set."""
        plan = super().asked(answer, draw)
        if self.targets.cases:
            return plan
        return (*plan, *(_entries(name) for name in self._read_names(answer)))

    def read(self, value: Any, item: Item, target: ValueTarget) -> tuple[Any, Finding | None]:
        """A table of whole numbers with two axes: a matrix, or one row for each pair."""
        del item
        what = target.what
        if nothing_written(value):
            return None, no_answer()
        if isinstance(value, Mapping):
            value = _pairs(value)
        if isinstance(value, list | tuple) and not value:
            return np.zeros((0, 2), np.int64), None
        found = numbers(value)
        if found is None or found.array.ndim != 2:
            form = type_name(value)
            return None, failed("visibility.form", f"{what}: {form}", what=what, form=form)
        if max(found.array.shape) > MAX_POSITIONS**2 or found.kind == "complex":
            shape = quote_shape(found.array.shape)
            return None, failed("visibility.size", f"{what}: {shape}", what=what, shape=shape)
        with np.errstate(all="ignore"):
            array = found.array.astype(np.float64)
            whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**31)
        if not whole.all():
            return None, failed("visibility.entry", f"{what}: not whole numbers", what=what)
        return array.astype(np.int64), None

    def read_right(self, value: Any, item: Item, target: ValueTarget) -> tuple[Any, Finding | None]:
        """A matrix of 0 and 1."""
        array, finding = self.read(value, item, target)
        if finding is None and not (array.size and set(np.unique(array).tolist()) <= {0, 1}):
            return None, failed("visibility.entry", "no matrix of 0 and 1", what=target.what)
        return array, finding

    def differs(self, given: Any, right: Any, item: Item, target: ValueTarget) -> Finding | None:
        """The first explanation that fits the whole matrix, or how many rows are wrong."""
        del item
        expected = right.astype(bool)
        matrix = self._matrix(given, expected, target.what)
        if isinstance(matrix, Finding):
            return matrix
        wrong = (matrix != expected).any(-1)
        if not wrong.any():
            return None
        staff = f"{target.what}: {_rows(matrix)}, expected {_rows(expected)}"
        for code, other in confusions(expected):
            if np.array_equal(matrix, other):
                return failed(f"{AREA}.{code}", staff, what=target.what)
        params = {"count": str(int(wrong.sum())), "total": str(len(wrong)), "row": str(int(wrong.argmax()))}
        return failed("visibility.rows", staff, what=target.what, **params)

    def stated(self, item: Item, evidence: Evidence) -> tuple[Any, ...]:
        """The item's ``value``."""
        del evidence
        value = self.items[item.id].value
        return () if value is None else ([list(row) for row in value],)

    def wrong_values(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """The right matrix confused in every way, and with one entry changed."""
        del item
        for code, matrix in confusions(right.astype(bool)):
            yield code, matrix.astype(int).tolist()
        for place in (0, right.size - 1):
            changed = right.copy()
            changed.flat[place] ^= 1
            yield f"entry {place} changed", changed.tolist()

    def other_spellings(self, right: Any, item: Item) -> Iterator[tuple[str, Any]]:
        """As pairs, and with truth values."""
        del item
        yield "as pairs", [tuple(pair) for pair in np.argwhere(right).tolist()]
        yield "with truth values", right.astype(bool).tolist()

    def diagnoses(self, item: Item) -> frozenset[str]:
        """Every way of being wrong that has a sentence."""
        del item
        codes = (code for code in sentences() if code.startswith(f"{AREA}.") and code not in _ABOUT_FORM)
        return frozenset(code.removeprefix(f"{AREA}.") for code in codes)

    def _explained(
        self, given: Any, wrongs: Sequence[MistakeValue], difference: Finding, item: Item, target: ValueTarget
    ) -> Finding | None:
        """The first mistake known to the reference that leads to this matrix."""
        if difference.code in _ABOUT_FORM:
            return None
        for wrong in wrongs:
            value, finding = self.read_right(wrong.value, item, target)
            known = finding is None and f"{AREA}.{wrong.code}" in sentences()
            if known and self.differs(given, value, item, target) is None:
                return failed(f"{AREA}.{wrong.code}", difference.staff, what=target.what)
        return None

    def judged(self, value: Any, known: Any, item: Item, target: ValueTarget, evidence: Evidence) -> Compared:
        """See `ComparedCheck.judged`; a set is read by its entries."""
        if isinstance(value, Opaque) and value.type_name in _SETS and not self.targets.cases:
            names = self._read_names(evidence.answer)
            index = len(names) + names.index(target.name)
            entries = observations_at(evidence.observed, index)
            if len(entries) == 2 and entries[1].ok:
                value = entries[1].value
        return super().judged(value, known, item, target, evidence)

    def _read_names(self, answer: Answer) -> list[str]:
        """The variables that do not stand in the source, in the order of their scenarios."""
        items = (item for item in self.question.items if item.id in self.items)
        names = dict.fromkeys(self.targets.of_item(item)[0].name for item in items)
        return [name for name in names if stated(answer, name) is None]

    @staticmethod
    def _matrix(given: np.ndarray, right: np.ndarray, what: Phrase) -> np.ndarray | Finding:
        """What was given as a matrix of the right shape."""
        is_binary = bool(((given == 0) | (given == 1)).all())
        if given.shape == right.shape and is_binary:
            return given.astype(bool)
        if given.shape[1] == 2 and given.shape != right.shape:
            matrix = np.zeros(right.shape, bool)
            for query, key in given.tolist():
                if not (0 <= query < right.shape[0] and 0 <= key < right.shape[1]):
                    pair = f"({quote_integer(query)}, {quote_integer(key)})"
                    return failed("visibility.position", f"{what}: {pair}", what=what, pair=pair)
                matrix[query, key] = True
            return matrix
        if given.shape == right.shape:
            return failed("visibility.entry", f"{what}: not only 0 and 1", what=what)
        if given.shape == right.shape[::-1] and np.array_equal(given.T, right):
            return failed("visibility.transposed", f"{what}: transposed", what=what)
        shape = quote_shape(given.shape)
        staff = f"{what}: {shape}, expected {quote_shape(right.shape)}"
        return failed("visibility.size", staff, what=what, shape=shape)


def confusions(right: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Wrong matrices that the right one leads to by itself: code and matrix; (queries, keys) bool."""
    queries, keys = right.shape
    if queries == keys:
        yield "transposed", right.T
        yield "diagonal-missing", right & ~np.eye(queries, dtype=bool)
        yield "both-sides", right | right.T
        yield "one-ahead", right | np.eye(queries, k=1, dtype=bool)
    yield "inverted", ~right
    yield "everything", np.ones_like(right)
    yield "nothing", np.zeros_like(right)


def _entries(name: str) -> Scenario:
    """The entries of a variable in order, which works for sets of pairs; how it fails does not matter."""
    read = Call(name, read=True, keep=_KEPT)
    return Scenario(f"{name}: entries", (read, Call("@builtins", attribute="sorted", args=(Ref(_KEPT),))))


def _pairs(value: Mapping[Any, Any]) -> Any:
    """Pairs out of a dictionary from a position to those that it sees."""
    if not all(isinstance(seen, list | tuple) for seen in value.values()) or len(value) > MAX_POSITIONS:
        return value
    return [(query, key) for query, seen in value.items() for key in seen[:MAX_POSITIONS]]


def _rows(matrix: np.ndarray) -> str:
    """A matrix on one line, for staff."""
    return " ".join("".join("1" if seen else "0" for seen in row) for row in matrix[:32])


KIND = Kind(VisibilityCheck)
