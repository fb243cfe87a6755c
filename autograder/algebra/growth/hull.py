"""Whether a sum of products bounds a product, e.g. ``n*d`` by ``n^2 + d^2``.

No single term of that sum bounds it, but the mean of both does: the exponents of ``n*d`` lie in the
convex hull of theirs (Newton's polyhedron). Whether a point lies in a hull, or below it, is a linear
program, solved here exactly in fractions. For pure powers of symbols this decides; where logarithms
take part a point in the hull is enough, and beside it other ways to a proof are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from autograder.algebra.forms.linear import feasible
from autograder.algebra.growth.scales import Path, Product, bounded, names, paths, quotient, unbounded_along

ROOM = Fraction(1, 1000)
"""A power of a symbol that is looked for in the place of its logarithms."""

Atom = tuple[str, int]


def bounds(terms: Sequence[Product], product: Product) -> bool | None:
    """Whether a sum is at least a constant times a product, for all large values of the symbols.

    Returns:
        None where neither is proven.
    """
    if product in terms:
        return True
    powers = _powers((product, *terms))
    if powers is not None:
        main = sorted({atom for row in powers for atom in row if atom[1] == 1})
        if not _below_hull(powers[0], powers[1:], main):
            return False
        every = sorted({atom for row in powers for atom in row})
        if every == main or _below_hull(powers[0], powers[1:], every):
            return True
        if _strictly_below(powers[0], powers[1:], every):
            return True
    ratios = [quotient(product, term) for term in terms]
    if any(map(bounded, ratios)):
        return True
    return False if escape(ratios) is not None else None


def escape(ratios: Sequence[Product]) -> Path | None:
    """A way for the symbols to grow along which every one of some products goes to infinity."""
    symbols = {name for ratio in ratios for name in names(ratio)}
    for path in paths(symbols):
        if all(unbounded_along(ratio, path) for ratio in ratios):
            return path
    return None


def _powers(products: Sequence[Product]) -> list[dict[Atom, Fraction]] | None:
    """Exponents of symbols and of their repeated logarithms; None where something else occurs."""
    rows: list[dict[Atom, Fraction]] = []
    for product in products:
        row: dict[Atom, Fraction] = {}
        for scale, coefficient in product:
            if len(scale) != 1 or not isinstance(coefficient, int | Fraction):
                return None
            (atom, power) = scale[0]
            if power != 1 or atom[1] == 0:
                return None
            row[atom] = Fraction(coefficient)
        rows.append(row)
    return rows


def _strictly_below(
    point: dict[Atom, Fraction], corners: Sequence[dict[Atom, Fraction]], atoms: Sequence[Atom]
) -> bool:
    """Whether there is room for the point's logarithms: any power of a symbol outgrows its logarithms."""
    slowed = {name for name, times in point if times > 1}
    moved = {**point, **{(name, 1): point.get((name, 1), Fraction(0)) + ROOM for name in slowed}}
    looked_at = sorted({
        *(atom for atom in atoms if atom[1] == 1 or atom[0] not in slowed), *((name, 1) for name in slowed)
    })  # fmt: skip
    return _below_hull(moved, corners, looked_at)


def _below_hull(
    point: dict[Atom, Fraction], corners: Sequence[dict[Atom, Fraction]], atoms: Sequence[Atom]
) -> bool:
    """Whether some mean of the corners is at least the point in every coordinate."""
    zero = Fraction(0)
    if any(point.get(atom, zero) > max(corner.get(atom, zero) for corner in corners) for atom in atoms):
        return False
    if any(all(point.get(atom, zero) <= corner.get(atom, zero) for atom in atoms) for corner in corners):
        return True
    # mean - surplus = point, weights sum to one; right-hand sides are made positive.
    rows: list[list[Fraction]] = []
    for number, atom in enumerate(atoms):
        right = point.get(atom, zero)
        way = -1 if right < 0 else 1
        surplus = [Fraction(-way if number == other else 0) for other in range(len(atoms))]
        rows.append([*(way * corner.get(atom, zero) for corner in corners), *surplus, way * right])
    rows.append([*(Fraction(1) for _ in corners), *(zero for _ in atoms), Fraction(1)])
    return feasible(rows)
