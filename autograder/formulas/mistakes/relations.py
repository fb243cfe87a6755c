"""Explain how a wrong equation differs from the correct one, after solving both for the same symbol."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.equality.relations import solve_for_symbol
from autograder.formulas.mistakes.bases import Monomial, Recogniser
from autograder.formulas.mistakes.diagnose import SYMBOL_CODES, Diagnosis, Difference
from autograder.formulas.nodes import Add, Div, Neg, Node, Relation, Sym, collect_symbols


class RelationDiagnosis:
    """Explains wrong arrangements of one relation. Its tables are computed when needed."""

    __slots__ = ("_comparer", "_made", "_recogniser", "_right")

    def __init__(self, right: Relation, comparer: Comparer) -> None:
        """Solve the correct relation for each symbol for which that is directly possible."""
        self._comparer = comparer
        self._recogniser = Recogniser(comparer)
        self._right = self.list_arrangements(right)
        self._made: dict[str, Diagnosis] = {}

    def find_difference(self, wrong: Relation) -> Difference | None:
        """Return the first explanation that fits; None if none does, and for inequalities."""
        last: Difference | None = None
        for name, formula in self.list_arrangements(wrong).items():
            right = self._right.get(name)
            if right is None:
                continue
            if name not in self._made:
                self._made[name] = Diagnosis([right], [self._comparer])
            difference = self._made[name].find_difference(formula)
            if difference is None:
                continue
            difference = msgspec.structs.replace(difference, note=f"solved for {name}: {difference.note}")
            # Another arrangement may give a more specific explanation than "a symbol is missing".
            if difference.code not in SYMBOL_CODES:
                return difference
            last = last or difference
        return last

    def list_arrangements(self, relation: Relation) -> dict[str, Node]:
        """Return the relation as ``symbol = formula`` for several symbols, the form as written first.

        Inequalities have no arrangements.
        """
        if relation.sign != "=":
            return {}
        arrangements: dict[str, Node] = {}
        as_written = solve_for_symbol(relation)
        if as_written is not None:
            arrangements[as_written[0]] = as_written[1]
        for name, formula in _move_terms_over(relation):
            arrangements.setdefault(name, formula)
        # If the quotient of the sides is a monomial, the equation says that this monomial is 1.
        value = self._comparer.evaluate_at_point(Div(relation.left, relation.right))
        monomial = self._recogniser.recognise_monomial(value)
        for name, power in monomial.powers.items() if monomial is not None else ():
            if abs(power) == 1 and monomial is not None:
                arrangements.setdefault(name, _solve_for(name, power, monomial).to_formula())
        return arrangements


def _move_terms_over(relation: Relation) -> Iterator[tuple[str, Node]]:
    """Solve for a symbol that is a term and occurs only once: ``d + 1 = n`` gives ``d = n - 1``."""
    for side, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if not isinstance(side, Add):
            continue
        for index, term in enumerate(side.terms):
            remaining = (*side.terms[:index], *side.terms[index + 1 :])
            if isinstance(term, Sym) and term.name not in collect_symbols(Add((other, *remaining))):
                yield term.name, Add((other, *map(_negate_term, remaining)))


def _negate_term(term: Node) -> Node:
    """Negate a term without two signs in a row, because students read it."""
    return term.operand if isinstance(term, Neg) else Neg(term)


def _solve_for(name: str, power: int, quotient: Monomial) -> Monomial:
    """Solve "product = 1" for a symbol that has the power 1 or -1 in the product."""
    powers = {other: -power * step for other, step in quotient.powers.items() if other != name}
    return Monomial(quotient.number if power < 0 else 1 / quotient.number, powers)
