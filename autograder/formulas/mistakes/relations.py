"""Explain how a wrong equation differs from the correct one, after solving both for the same symbol."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.equality.relations import solved
from autograder.formulas.mistakes.bases import Monomial, Recogniser
from autograder.formulas.mistakes.diagnose import SYMBOL_CODES, Diagnosis, Difference
from autograder.formulas.nodes import Add, Div, Neg, Node, Relation, Sym, symbols


class RelationDiagnosis:
    """Explains wrong arrangements of one relation. Its tables are computed when needed."""

    __slots__ = ("_comparer", "_made", "_recogniser", "_right")

    def __init__(self, right: Relation, comparer: Comparer) -> None:
        """Solve the correct relation for each symbol for which that is directly possible."""
        self._comparer = comparer
        self._recogniser = Recogniser(comparer)
        self._right = self.arranged(right)
        self._made: dict[str, Diagnosis] = {}

    def difference(self, wrong: Relation) -> Difference | None:
        """Return the first explanation that fits; None if none does, and for inequalities."""
        last: Difference | None = None
        for name, formula in self.arranged(wrong).items():
            right = self._right.get(name)
            if right is None:
                continue
            if name not in self._made:
                self._made[name] = Diagnosis([right], [self._comparer])
            found = self._made[name].difference(formula)
            if found is None:
                continue
            found = msgspec.structs.replace(found, note=f"solved for {name}: {found.note}")
            # Another arrangement may give a more specific explanation than "a symbol is missing".
            if found.code not in SYMBOL_CODES:
                return found
            last = last or found
        return last

    def arranged(self, relation: Relation) -> dict[str, Node]:
        """Return the relation as ``symbol = formula`` for several symbols, the form as written first.

        Inequalities have no arrangements.
        """
        if relation.sign != "=":
            return {}
        found: dict[str, Node] = {}
        as_written = solved(relation)
        if as_written is not None:
            found[as_written[0]] = as_written[1]
        for name, formula in _moved_over(relation):
            found.setdefault(name, formula)
        # If the quotient of the sides is a monomial, the equation says that this monomial is 1.
        value = self._comparer.value(Div(relation.left, relation.right))
        monomial = self._recogniser.monomial(value)
        for name, power in monomial.powers.items() if monomial is not None else ():
            if abs(power) == 1 and monomial is not None:
                found.setdefault(name, _solved_for(name, power, monomial).tree())
        return found


def _moved_over(relation: Relation) -> Iterator[tuple[str, Node]]:
    """Solve for a symbol that is a term and occurs only once: ``d + 1 = n`` gives ``d = n - 1``."""
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if not isinstance(side, Add):
            continue
        for place, term in enumerate(side.terms):
            rest = (*side.terms[:place], *side.terms[place + 1 :])
            if isinstance(term, Sym) and term.name not in symbols(Add((other, *rest))):
                yield term.name, Add((other, *map(_negative, rest)))


def _negative(term: Node) -> Node:
    """Negate a term without two signs in a row, because students read it."""
    return term.operand if isinstance(term, Neg) else Neg(term)


def _solved_for(name: str, power: int, quotient: Monomial) -> Monomial:
    """Solve "product = 1" for a symbol that has the power 1 or -1 in the product."""
    others = {other: -power * step for other, step in quotient.powers.items() if other != name}
    return Monomial(quotient.number if power < 0 else 1 / quotient.number, others)
