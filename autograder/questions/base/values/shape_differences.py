"""Explanations of how a wrong shape differs from the right one.

An explanation is found among the shapes that one misconception makes of the right one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from autograder.formulas import Undecided, Vocabulary
from autograder.formulas.nodes import Mul, Node, Num
from autograder.formulas.shapes import Axes

Equal = Callable[[Node, Node], bool]
Same = Callable[[Sequence[Node], Sequence[Node]], bool]

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "early": ("early",),
    "permuted": ("heads-not-moved", "last-two-swapped", "swapped", "permuted"),
    "missing": ("batch-missing", "heads-missing", "missing"),
    "extra": ("extra-one", "extra"),
    "not-split": ("heads-not-split", "not-split", "product"),
    "not-joined": ("heads-not-joined", "not-joined"),
    "axis": ("one-head", "all-heads", "axis"),
    "axes": ("axes",),
    "count": ("count",),
}
"""Every way in which a shape may differ, by family. The name of a family also refers to all of its
members."""
DIFFERENCES = frozenset(code for codes in FAMILIES.values() for code in codes)
NEEDS_HEADS = frozenset(code for code in DIFFERENCES if "head" in code)
"""Differences that are recognised only if it is known which size counts the heads."""

_BATCH = re.compile(r".*batch.*", re.IGNORECASE)
_HEADS = re.compile(r"(?:n|num|number_of)?[_ ]?heads?|köpfe", re.IGNORECASE)


class ShapeDifference(Struct, frozen=True):
    """How a shape differs.

    Attributes:
        code: one of `DIFFERENCES`.
        axes: the axes of the submitted shape that the difference is about, from 0.
    """

    code: str
    axes: tuple[int, ...] = ()


class Roles(Struct, frozen=True):
    """The known roles of axes in a right shape.

    Attributes:
        batch: the axis of the batch; -1 if unknown.
        heads: the axis of the heads; -1 if unknown or if there is none.
        head_count: the number of heads; None if unknown.
    """

    batch: int = -1
    heads: int = -1
    head_count: Node | None = None


def expand_family(code: str) -> frozenset[str]:
    """Return the differences that a name refers to; empty if there are none."""
    return frozenset(FAMILIES.get(code, (code,) if code in DIFFERENCES else ()))


def find_roles(names: Sequence[Iterable[str]], right: Axes, usual: Node | None) -> Roles:
    """Find the batch and the heads by the names of the axes.

    Args:
        names: all names of each axis of the right shape.
        right: the right shape.
        usual: the number of heads if no axis is the heads.
    """
    batch = next((axis for axis, spellings in enumerate(names) if any(map(_BATCH.fullmatch, spellings))), -1)
    heads = next((axis for axis, spellings in enumerate(names) if any(map(_HEADS.fullmatch, spellings))), -1)
    return Roles(batch, heads, right[heads] if heads >= 0 else usual)


def is_head_name(name: str) -> bool:
    """Return whether a size of this name counts the heads."""
    return _HEADS.fullmatch(name) is not None


def find_head_count(vocabulary: Vocabulary) -> Node | None:
    """Return the symbol that counts the heads, by its spellings, or None."""
    return next((node for spelling, node in vocabulary.nodes.items() if is_head_name(spelling)), None)


def find_difference(submitted: Axes, right: Axes, equal: Equal, roles: Roles) -> ShapeDifference | None:
    """Return how a shape differs from the right one.

    Args:
        submitted: the submitted shape.
        right: the right shape.
        equal: decides whether two sizes are equal; may raise `Undecided`.
        roles: the roles of the right axes.

    Returns:
        The first explanation that fits; None if the shapes are equal.

    Raises:
        Undecided: they could be proven neither equal nor different.
    """

    def is_proven_equal(first: Node, second: Node) -> bool:
        try:
            return equal(first, second)
        except Undecided:
            return False

    def are_same(first: Sequence[Node], second: Sequence[Node]) -> bool:
        return len(first) == len(second) and all(map(is_proven_equal, first, second))

    if len(submitted) == len(right):
        wrong, open_ones = _find_wrong_axes(submitted, right, equal)
        if wrong and open_ones:  # nothing is said of these
            return ShapeDifference("axes", wrong)
        return _explain_in_place(submitted, right, wrong, is_proven_equal, roles) if wrong else None
    # If all sizes but one are 1, their product is that size, and axes are missing instead.
    several = sum(not is_proven_equal(axis, Num(1)) for axis in right) > 1
    if several and len(submitted) == 1 and is_proven_equal(submitted[0], Mul(right)):
        return ShapeDifference("product", (0,))
    difference = None
    if len(submitted) == len(right) - 1:
        difference = _find_merged(submitted, right, are_same, roles) or _find_dropped(
            submitted, right, are_same, roles
        )
    elif len(submitted) == len(right) + 1:
        difference = _find_inserted(submitted, right, is_proven_equal, are_same, roles)
    return difference or ShapeDifference("count")


def _find_wrong_axes(submitted: Axes, right: Axes, equal: Equal) -> tuple[tuple[int, ...], list[int]]:
    """Return the axes that are proven different, and those that are neither proven different nor equal.

    Raises:
        Undecided: none is proven different, and not all are proven equal.
    """
    wrong, open_ones = [], []
    for axis, pair in enumerate(zip(submitted, right, strict=True)):
        try:
            if not equal(*pair):
                wrong.append(axis)
        except Undecided:
            open_ones.append(axis)
    if open_ones and not wrong:
        raise Undecided(f"axes {open_ones} of a shape")
    return tuple(wrong), open_ones


def _explain_in_place(
    submitted: Axes, right: Axes, wrong: tuple[int, ...], equal: Equal, roles: Roles
) -> ShapeDifference:
    if len(wrong) == 1:
        return ShapeDifference(_explain_one_axis(submitted[wrong[0]], right[wrong[0]], equal, roles), wrong)
    if not _is_permutation([submitted[axis] for axis in wrong], [right[axis] for axis in wrong], equal):
        return ShapeDifference("axes", wrong)
    if len(wrong) > 2:
        return ShapeDifference("permuted", wrong)
    if roles.heads == wrong[0] and wrong[1] < len(right) - 1:
        return ShapeDifference("heads-not-moved", wrong)
    return ShapeDifference(
        "last-two-swapped" if wrong == (len(right) - 2, len(right) - 1) else "swapped", wrong
    )


def _explain_one_axis(submitted: Node, right: Node, equal: Equal, roles: Roles) -> str:
    heads = roles.head_count
    if heads is None or equal(heads, Num(1)):
        return "axis"
    if equal(Mul((submitted, heads)), right):
        return "one-head"
    return "all-heads" if equal(submitted, Mul((right, heads))) else "axis"


def _is_permutation(submitted: list[Node], right: list[Node], equal: Equal) -> bool:
    left = list(right)
    for axis in submitted:
        match = next((index for index, other in enumerate(left) if equal(axis, other)), None)
        if match is None:
            return False
        del left[match]
    return True


def _make_merges(axes: Axes) -> Iterator[tuple[tuple[int, int], int, list[Node]]]:
    """Yield shapes with two axes merged at either position: the pair, the merged axis, and the shape."""
    for first, second in combinations(range(len(axes)), 2):
        for stays, goes in ((first, second), (second, first)):
            merged = list(axes)
            merged[stays] = Mul((axes[first], axes[second]))
            del merged[goes]
            yield (first, second), stays - (goes < stays), merged


def _find_merged(submitted: Axes, right: Axes, same: Same, roles: Roles) -> ShapeDifference | None:
    """Return the difference that one axis is still the product of two.

    With a size of one, the axis might as well be missing.
    """
    for pair, position, merged in _make_merges(right):
        if any(right[axis] == Num(1) for axis in pair) or not same(submitted, merged):
            continue
        with_width = roles.heads in pair and len(right) - 1 in pair
        return ShapeDifference("heads-not-split" if with_width else "not-split", (position,))
    return None


def _find_dropped(submitted: Axes, right: Axes, same: Same, roles: Roles) -> ShapeDifference | None:
    dropped = {axis for axis in range(len(right)) if same(submitted, (*right[:axis], *right[axis + 1 :]))}
    if dropped == {roles.batch}:
        return ShapeDifference("batch-missing")
    if dropped == {roles.heads}:
        return ShapeDifference("heads-missing")
    return ShapeDifference("missing") if dropped else None


def _find_inserted(
    submitted: Axes, right: Axes, equal: Equal, same: Same, roles: Roles
) -> ShapeDifference | None:
    extra = [
        axis for axis in range(len(submitted)) if same((*submitted[:axis], *submitted[axis + 1 :]), right)
    ]
    ones = [axis for axis in extra if equal(submitted[axis], Num(1))]
    if extra:
        return ShapeDifference("extra-one", (ones[0],)) if ones else ShapeDifference("extra", (extra[0],))
    heads = roles.head_count
    for pair, _, merged in _make_merges(submitted):
        if same(merged, right):
            of_heads = heads is not None and any(equal(submitted[axis], heads) for axis in pair)
            return ShapeDifference("heads-not-joined" if of_heads else "not-joined", pair)
    return None
