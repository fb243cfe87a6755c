"""What the rubric asks of the form of a right answer."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from msgspec import Struct

from autograder.algebra.forms.flaws import flaw, occurring
from autograder.algebra.nodes import Node, Relation, Tree, Tuple
from autograder.algebra.notation.landau import body_of
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.checks.judging import results
from autograder.checks.judging.results import Finding
from autograder.errors import Undecided
from autograder.kinds.general.symbolic.form_options import FormOptions, plain
from autograder.records import Message, Status


class FormRule(Struct, frozen=True):
    """Asked of the way an answer is written; whether it is right is judged elsewhere.

    Attributes:
        must: names of forms.
        present: symbols and functions that must occur.
        absent: symbols and functions that must not.
        points: for a right answer in another form.
    """

    must: tuple[str, ...]
    present: tuple[str, ...]
    absent: tuple[str, ...]
    points: Decimal

    def finding(self, answer: Tree, reading: str) -> Finding | None:
        """Why a right answer does not earn all points; None when it does."""
        try:
            message = self.broken(answer)
        except Undecided as error:
            return results.review(f"read as {reading}; right, but its form: {error}", "formula.undecided")
        if message is None:
            return None
        return Finding(Status.FAILED, message, f"read as {reading}; right, {message.code}", self.points)

    def broken(self, answer: Tree) -> Message | None:
        """What the student reads about the first part that is not as asked; None when all is.

        Raises:
            Undecided: a formula is too large to be factored.
        """
        written = occurring(answer)
        for name in self.absent:
            if name in written:
                return Message("form.without", {"name": name})
        for name in self.present:
            if name not in written:
                return Message("form.with", {"name": name})
        for part in _formulas(answer):
            for form in self.must:
                found = flaw(part, form)
                if found is not None:
                    return Message(f"form.{found.code}", dict(found.params))
        return None


def form_rule(options: FormOptions, vocabulary: Vocabulary) -> FormRule | None:
    """The rule that an item's options state; None when they state none."""
    if not (options.must or options.present or options.without):
        return None
    return FormRule(
        options.must,
        tuple(plain(name, vocabulary) for name in options.present),
        tuple(plain(name, vocabulary) for name in options.without),
        options.form_points,
    )


def _formulas(answer: Tree) -> Iterator[Node]:
    """The formulas that an answer consists of."""
    match answer:
        case Relation(left, right):
            yield left
            yield right
        case Tuple(elements):
            yield from elements
        case _:
            yield body_of(answer)
