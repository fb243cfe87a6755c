"""A right listing, faults as changes of its text, and the listing with any of them in it.

Every place is found in the right listing, so the order of faults does not matter, and two that change the
same characters are found as such.
"""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from autograder.errors import CourseError
from autograder.kinds.general.debugging.unified import Change, changes_of
from autograder.syntax import first_line, lines_of

ALL_SUBSETS = 10
"""With so many faults every subset is looked at; of more, a sample."""
SAMPLED = 500
"""Subsets in a sample, besides the smallest and the largest ones."""

Subset = frozenset[str]
"""The ids of the faults that are in a listing; empty: the right one."""


class Edit(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that stands in the right listing, and what stands there instead."""

    right: str
    """It stands once in its function. Several lines are indented among themselves only."""
    faulty: str
    function: str = ""
    """``Class.method``, ``Class`` or ``function`` that holds it; empty: anywhere in the listing."""


class Patch(Struct, frozen=True):
    """Changes as a unified diff."""

    diff: str
    """From the right listing to the faulty one: ``-`` stands in the right one, ``+`` in the faulty one."""


class OtherText(Struct, frozen=True, forbid_unknown_fields=True):
    """Text that stands in the right listing, and what stands there in an alternative."""

    right: str
    other: str
    function: str = ""
    """As of a fault's `Edit`."""


class Alternative(Struct, frozen=True, forbid_unknown_fields=True):
    """What makes another listing of the right one that is right as well, and computes something else."""

    id: str
    edit: tuple[OtherText, ...] = ()
    diff: str = ""
    """Instead or besides: as a unified diff, from the right listing to the other one."""

    @property
    def changes(self) -> tuple[Edit | Patch, ...]:
        """Of the right listing's text, however they are stated."""
        edits = (Edit(one.right, one.other, one.function) for one in self.edit)
        return (*edits, *((Patch(self.diff),) if self.diff else ()))


Changes = Sequence[Edit | Patch]
"""Of the right listing, that belong together."""


class FaultyListing:
    """The right listing, what each fault changes in it, and what makes another right one of it.

    Attributes:
        subsets: the sets of faults that are looked at.
        alternatives: the sets of an alternative and up to two faults that change other text.
    """

    def __init__(
        self,
        source: str,
        faults: Mapping[str, Changes],
        where: str,
        alternatives: Mapping[str, Changes] | None = None,
    ) -> None:
        """Find the place of every fault.

        Args:
            source: the right listing.
            faults: by id, in the rubric's order.
            where: how errors name the question.
            alternatives: by id: what makes another right listing.

        Raises:
            CourseError: a place is not there once, two faults change the same text, or a listing with
                faults is not Python; names the faults.
        """
        self.source = source
        self.where = where
        self.faults = tuple(faults)
        self._changes = {
            name: tuple(
                change for one in stated for change in _changes(source, one, f"{where}: {what} {name!r}")
            )
            for what, some in (("fault", faults), ("alternative", alternatives or {}))
            for name, stated in some.items()
        }
        self._refuse_collisions()
        self.subsets = tuple(subsets(self.faults))
        small = [frozenset(one) for size in range(3) for one in combinations(self.faults, size)]
        self.alternatives = tuple(
            beside | {name}
            for name in alternatives or {}
            for beside in small
            if not any(self._collision(name, fault) for fault in beside)
        )
        for subset in self.alternatives:
            self._refuse_no_python(subset)

    def text(self, subset: Iterable[str]) -> str:
        """The listing with some of the faults in it, and perhaps an alternative."""
        changes = sorted(change for name in subset for change in self._changes[name])
        parts, at = [], 0
        for start, end, instead in changes:
            parts += [self.source[at:start], instead]
            at = end
        return "".join([*parts, self.source[at:]])

    def _refuse_collisions(self) -> None:
        for one, other in combinations(self.faults, 2):
            if text := self._collision(one, other):
                raise CourseError(
                    f"{self.where}: faults {one!r} and {other!r} change the same text: {text!r}; "
                    "make one of them smaller, or take it out"
                )
        small = (subset for size in (1, 2) for subset in combinations(self.faults, size))
        for subset in (*small, *_sample(self.faults)):
            self._refuse_no_python(subset)

    def _collision(self, one: str, other: str) -> str:
        """The text that two of them change both."""
        for start, end, _ in self._changes[one]:
            for begin, stop, _ in self._changes[other]:
                if (start < stop and begin < end) or (start, end) == (begin, stop):
                    return self.source[max(start, begin) : min(end, stop)].strip() or "(inserted)"
        return ""

    def _refuse_no_python(self, subset: Iterable[str]) -> None:
        try:
            ast.parse(self.text(subset))
        except SyntaxError as error:
            raise CourseError(
                f"{self.where}: with {', '.join(sorted(subset))} the listing is not Python: "
                f"line {error.lineno}: {error.msg}"
            ) from error


def _changes(source: str, stated: Edit | Patch, where: str) -> Iterator[Change]:
    match stated:
        case Edit():
            yield _change(source, stated, where)
        case Patch():
            yield from changes_of(source, stated.diff, where)


def _change(source: str, edit: Edit, where: str) -> Change:
    """Where the text of an edit begins and ends, and what stands there instead."""
    first, last = _span(source, edit.function, where)
    right = textwrap.dedent(edit.right).strip("\n")
    faulty = textwrap.dedent(edit.faulty).strip("\n")
    found = []
    at = source.find(_line(right), first, last) if right.strip() else -1
    while at >= 0:
        indent = _indent(source, at)
        if source.startswith(_indented(right, indent), at):
            found.append((at, at + len(_indented(right, indent)), _indented(faulty, indent)))
        at = source.find(_line(right), at + 1, last)
    if len(found) != 1:
        inside = f" in {edit.function}" if edit.function else ""
        remedy = "give more of the line" if found else "copy it from the listing"
        raise CourseError(
            f"{where}: expected {edit.right!r} once{inside}, found {len(found)} times; {remedy}"
        )
    return found[0]


def _line(text: str) -> str:
    return text.split("\n", 1)[0]


def _indent(source: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    line = source[source.rfind("\n", 0, at) + 1 : at + 1]
    return line[: len(line) - len(line.lstrip())]


def _indented(text: str, indent: str) -> str:
    first, *others = text.split("\n")
    return "\n".join([first, *(indent + line if line.strip() else line for line in others)])


def _span(source: str, function: str, where: str) -> tuple[int, int]:
    """Where a definition begins and ends, in characters."""
    if not function:
        return 0, len(source)
    body: Sequence[ast.stmt] = ast.parse(source).body
    found: ast.stmt | None = None
    for name in function.split("."):
        found = next((one for one in body if getattr(one, "name", None) == name), None)
        if found is None:
            raise CourseError(f"{where}: there is no {function!r} in the listing")
        body = getattr(found, "body", ())
    assert found is not None  # noqa: S101 - a name has one part at least
    starts = [0]
    for line in lines_of(source):
        starts.append(starts[-1] + len(line))
    return starts[first_line(found) - 1], starts[min(found.end_lineno or 0, len(starts) - 1)]


def subsets(faults: Sequence[str]) -> Iterator[Subset]:
    """Every subset, the smallest first; of many faults the singles, pairs, their complements and a sample."""
    if len(faults) <= ALL_SUBSETS:
        sizes = range(len(faults) + 1)
        yield from (frozenset(one) for size in sizes for one in combinations(faults, size))
        return
    small = [frozenset(one) for size in range(3) for one in combinations(faults, size)]
    sampled = [frozenset(one) for one in _sample(faults)]
    yield from dict.fromkeys([*small, *(frozenset(faults) - one for one in small), *sampled])


def _sample(faults: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Subsets of any size, the same in every run; the largest first."""
    yield tuple(faults)
    numbers = random.Random(0)  # noqa: S311 - nothing secret
    for _ in range(SAMPLED):
        yield tuple(one for one in faults if numbers.random() < 0.5)
