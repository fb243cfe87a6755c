"""What the weights of a listing are called in code in other words, and what is loaded there.

A guess by names, shapes and order. A wrong one does no harm: code that gives what a listing gives, with these
weights in whatever places, computes what the listing does; other code is judged by what its author states.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import NamedTuple

import numpy as np

from autograder.records import Tensor

MOST_PARTS = 4
"""So many modules stand for one, or one for them: query, key and value, say."""
MOST_NAMES = 1000
"""Of weights that have other names so many are looked at: all of them are the student's word."""
LONGEST_NAME = 300
Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
"""Name in a ``state_dict`` → shape."""
Modules = dict[str, Shapes]
"""Name of a module → its weights."""


class WeightPart(NamedTuple):
    """A part of a stated weight: the ``part``-th, from 0, ``of`` so many equal ones along its rows."""

    name: str
    part: int = 0
    of: int = 1


class OwnWeight(NamedTuple):
    """What of the stated weights stands in one of some code."""

    parts: tuple[WeightPart, ...]
    """One below the other."""
    shape: Shape
    """There."""
    transposed: bool = False


OwnNames = Mapping[str, OwnWeight]
"""What a weight is called in some code → what is loaded there."""


def own_names(stated: Shapes, told: Shapes) -> OwnNames:
    """What stands for the stated weights.

    The same name, whatever its shape. Then modules with weights of the same shapes: those whose names end
    alike, the others in order; or the next few that make up one when they are laid below each other, as
    query, key and value do, or one that takes the place of the next few stated. Then single weights, with
    another number of axes of size 1 or turned around.

    Args:
        stated: in the order of the listing.
        told: of the code, in its order.
    """
    found = {name: OwnWeight((WeightPart(name),), told[name]) for name in stated if name in told}
    if len(found) == len(stated):
        return found
    ours = _modules(dict(_others(stated, found)))
    theirs = _modules(dict(islice(_others(told, stated), MOST_NAMES)))
    for one, other in _alike(ours, theirs):
        found |= _in_place(theirs.pop(other), [ours.pop(one)])
    while ours:
        found |= _next(ours, theirs)
    known = {one.name for own in found.values() for one in own.parts}
    left = dict(_others(stated, known))
    return found | _single(left, dict(islice(_others(told, found), MOST_NAMES)))


def loaded(weights: Mapping[str, Tensor], own: OwnNames) -> dict[str, Tensor]:
    """The drawn weights by the code's own names, with its own shapes.

    Rows that the code has beyond those that are stated are zeros. Where it has fewer rows, that is loaded as
    stated, which fails as it does for a listing that has fewer; what has another form is left out.
    """
    found = {}
    for name, (parts, shape, transposed) in own.items():
        try:
            array = _laid_below([_part(weights[one.name].array, one) for one in parts])
        except ValueError:  # a use states other shapes, which cannot be divided or laid below each other so
            continue
        array = array.T if transposed else array
        if _thick(array.shape) == _thick(shape):
            array = array.reshape(shape)
        if len(shape) != array.ndim:
            continue
        beyond = np.subtract(shape, array.shape)
        if beyond.any() and np.all(beyond >= 0):
            array = np.pad(array, [(0, size) for size in beyond])
        elif shape[1:] != array.shape[1:]:
            continue
        found[name] = Tensor(array, weights[parts[0].name].dtype)
    return found


def _part(array: np.ndarray, part: WeightPart) -> np.ndarray:
    return np.split(array, part.of)[part.part] if part.of > 1 else array


def _laid_below(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _others(shapes: Shapes, known: Container[str]) -> Iterator[tuple[str, Shape]]:
    return (
        (name, shape) for name, shape in shapes.items() if name not in known and len(name) <= LONGEST_NAME
    )


def _modules(shapes: Shapes) -> Modules:
    found: dict[str, dict[str, Shape]] = {}
    for name, shape in shapes.items():
        found.setdefault(name.rpartition(".")[0], {})[name] = shape
    return dict(found)


def _last_parts(weights: Shapes) -> list[tuple[str, Shape]]:
    return [(name.rpartition(".")[2], shape) for name, shape in weights.items()]


def _alike(ours: Modules, theirs: Modules) -> list[tuple[str, str]]:
    """Pairs of modules with the same weights whose names end alike; those that are alike most first."""
    alike = {
        (one, other): _alikeness(one.split("."), other.split("."))
        for one in ours
        for other in theirs
        if _last_parts(ours[one]) == _last_parts(theirs[other])
    }
    found: dict[str, str] = {}
    for one, other in sorted((pair for pair in alike if alike[pair][0]), key=alike.__getitem__):
        if one not in found and other not in found.values():
            found[one] = other
    return [*found.items()]


def _alikeness(one: Sequence[str], other: Sequence[str]) -> tuple[int, int, int]:
    """Less of names that are more alike: in their last parts, in words anywhere, in their first parts."""
    words = [Counter(re.findall(r"[^\W_]+", " ".join(name))) for name in (one, other)]
    return -_same(reversed(one), reversed(other)), -(words[0] & words[1]).total(), -_same(one, other)


def _same(one: Iterable[str], other: Iterable[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _next(ours: Modules, theirs: Modules) -> dict[str, OwnWeight]:
    """What stands for the first module of ours, and perhaps the next few; both are taken away."""
    first, weights = next(iter(ours.items()))
    for few in range(1, MOST_PARTS + 1):
        part = _shares([*weights.values()], few)
        fitting = _siblings([name for name, other in theirs.items() if [*other.values()] == part], few)
        if fitting:
            del ours[first]
            parts = [_in_place(theirs.pop(name), [weights], at, few) for at, name in enumerate(fitting)]
            return {name: own for found in parts for name, own in found.items()}
    for few in range(2, MOST_PARTS + 1):
        names = _siblings([*ours][:few], few)
        several = [ours[name] for name in names]
        whole = _whole([[*one.values()] for one in several])
        fitting = [name for name, other in theirs.items() if [*other.values()] == whole]
        if names and fitting:
            for name in names:
                del ours[name]
            return _in_place(theirs.pop(fitting[0]), several)
    del ours[first]
    return {}


def _siblings(names: Sequence[str], few: int) -> Sequence[str]:
    """The first so many that are parts of the same module; none where there are not as many."""
    parents = [name.rpartition(".")[0] for name in names]
    parent = next((one for one in parents if parents.count(one) >= few), None)
    return [name for name, its in zip(names, parents, strict=True) if its == parent][:few]


def _in_place(weights: Shapes, stated: Sequence[Shapes], part: int = 0, of: int = 1) -> dict[str, OwnWeight]:
    """A module of the code in the place of stated ones, weight by weight, in their order."""
    rows = zip(*stated, strict=True)
    return {
        name: OwnWeight(tuple(WeightPart(one, part, of) for one in names), shape)
        for (name, shape), names in zip(weights.items(), rows, strict=True)
    }


def _shares(shapes: Sequence[Shape], few: int) -> list[Shape] | None:
    """The shapes of one of a few equal parts along the rows."""
    if few == 1:
        return [*shapes]
    if any(not shape or shape[0] % few for shape in shapes):
        return None
    return [(shape[0] // few, *shape[1:]) for shape in shapes]


def _whole(several: Sequence[Sequence[Shape]]) -> list[Shape] | None:
    """The shapes of a few modules' weights below each other."""
    if len({len(one) for one in several}) > 1:
        return None
    found = []
    for shapes in zip(*several, strict=True):
        if not all(shapes) or len({shape[1:] for shape in shapes}) > 1:
            return None
        found.append((sum(shape[0] for shape in shapes), *shapes[0][1:]))
    return found


def _single(stated: Shapes, told: Shapes) -> dict[str, OwnWeight]:
    """The next weight of the same shape, else of the same but for axes of size 1, else turned around."""
    free, found = dict(told), {}
    for name, shape in stated.items():
        ways = (
            (other for other, its in free.items() if its == shape),
            (other for other, its in free.items() if _thick(its) == _thick(shape)),
            (other for other, its in free.items() if its == shape[::-1]),
        )
        for way, fitting in enumerate(ways):
            if (other := next(fitting, None)) is not None:
                found[other] = OwnWeight((WeightPart(name),), free.pop(other), transposed=way == 2)
                break
    return found


def _thick(shape: Shape) -> Shape:
    """A shape without its axes of size 1."""
    return tuple(size for size in shape if size != 1)
