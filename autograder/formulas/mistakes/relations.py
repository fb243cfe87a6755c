"""Says how a wrong equation differs from the right one: both are solved for the same symbol first."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.equality.relations import solved
from autograder.formulas.mistakes.bases import Monomial, Recogniser
from autograder.formulas.mistakes.diagnose import SYMBOL_CODES, Diagnosis, Difference
from autograder.formulas.nodes import Add, Div, Neg, Node, Relation, Sym, symbols


class RelationDiagnosis:
    """What can be said about wrong arrangements of one relation. Its tables are made when needed."""

    __slots__ = ("_comparer", "_made", "_recogniser", "_right")

    def __init__(self, right: Relation, comparer: Comparer) -> None:
        """Solve the right relation for each symbol for which that is possible by looking at it."""
        self._comparer = comparer
        self._recogniser = Recogniser(comparer)
        self._right = self.arranged(right)
        self._made: dict[str, Diagnosis] = {}

    def difference(self, wrong: Relation) -> Difference | None:
        """The first explanation that fits; None when none does, and for inequalities."""
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
            if found.code not in SYMBOL_CODES:
                return found
            last = last or found
        return last

    def arranged(self, relation: Relation) -> dict[str, Node]:
        """The relation as ``symbol = formula``, for several symbols; as it was written first.

        Of inequalities nothing is said.
        """
        if relation.sign != "=":
            return {}
        found: dict[str, Node] = {}
        as_written = solved(relation)
        if as_written is not None:
            found[as_written[0]] = as_written[1]
        for name, formula in _moved_over(relation):
            found.setdefault(name, formula)
        value = self._comparer.value(Div(relation.left, relation.right))
        monomial = self._recogniser.monomial(value)
        for name, power in monomial.powers.items() if monomial is not None else ():
            if abs(power) == 1 and monomial is not None:
                found.setdefault(name, _solved_for(name, power, monomial).tree())
        return found


def _moved_over(relation: Relation) -> Iterator[tuple[str, Node]]:
    """Solved for a term that is a symbol and stands nowhere else: ``d + 1 = n`` gives ``d = n - 1``."""
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if not isinstance(side, Add):
            continue
        for place, term in enumerate(side.terms):
            rest = (*side.terms[:place], *side.terms[place + 1 :])
            if isinstance(term, Sym) and term.name not in symbols(Add((other, *rest))):
                yield term.name, Add((other, *map(_negative, rest)))


def _negative(term: Node) -> Node:
    """A term with the other sign, without two signs in a row: students read it."""
    return term.operand if isinstance(term, Neg) else Neg(term)


def _solved_for(name: str, power: int, quotient: Monomial) -> Monomial:
    """What a symbol equals where this product, in which it has the power 1 or -1, equals one."""
    others = {other: -power * step for other, step in quotient.powers.items() if other != name}
    return Monomial(quotient.number if power < 0 else 1 / quotient.number, others)
