"""The verdict on an answer in the usual order, for tests that need only this."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.errors import Undecided, Unreadable
from autograder.formulas.mistakes.diagnose import Difference
from autograder.formulas.nodes import Tree
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.vocabulary import Vocabulary
from autograder.questions.formula.answer_key import FormulaKey, NamedAnswer


class Verdict(Struct, frozen=True):
    """The verdict on an answer.

    Attributes: right: whether it is right. named: index of the matching named answer; -1 for none.
    difference: the difference from the right answer, if no named one matches. early: whether it is right only
    under assumptions that the item does not grant.
    """

    right: bool
    named: int = -1
    difference: Difference | None = None
    early: bool = False


class JudgingKey(FormulaKey):
    """An answer key that judges like an item without steps."""

    __slots__ = ("_foreseen",)

    def __init__(
        self,
        right: Sequence[Tree],
        readings: Sequence[Comparer],
        named: Sequence[NamedAnswer] = (),
        beyond: Comparer | None = None,
    ) -> None:
        """Prepare the lookup; see `FormulaKey`."""
        super().__init__(right, readings, named, beyond)
        self._foreseen = tuple(named)

    def verdict(self, answer: Tree) -> Verdict:
        """Judge an answer in the usual order.

        Right without assumptions comes first, then named right answers, then right under assumptions, then
        named mistakes, then the diagnosis.

        Raises: Undecided: it could be proven neither right nor wrong.
        """
        facts = self.make_facts(answer)
        doubt: Undecided | None = None
        for strictly in (True, False):
            try:
                if facts.is_right(strictly=strictly):
                    return Verdict(right=True)
            except Undecided as error:
                doubt = error
            for index, entry in enumerate(self._foreseen):
                try:
                    if entry.right is strictly and facts.is_named(index):
                        return Verdict(right=strictly, named=index)
                except Undecided as error:
                    doubt = error
        if doubt is not None:
            raise doubt
        if facts.is_early():
            return Verdict(right=False, early=True)
        return Verdict(right=False, difference=facts.find_difference())


def judge(
    text: str,
    right: str | Tree,
    vocabulary: Vocabulary,
    readings: Sequence[Comparer],
    read: Callable[[str, Vocabulary], Tree] = parse,
) -> str:
    """Return ``right``, ``wrong``, ``undecided`` or ``refused``."""
    key = JudgingKey([parse(right, vocabulary) if isinstance(right, str) else right], readings)
    try:
        return "right" if key.verdict(read(text, vocabulary)).right else "wrong"
    except Unreadable:
        return "refused"
    except Undecided:
        return "undecided"
