"""Answers that are judged in a way of their own instead of by an answer key."""

from __future__ import annotations

from typing import ClassVar, Protocol

from msgspec import Struct

from autograder.algebra.equality.compare import Comparer
from autograder.algebra.nodes import Node, Tree
from autograder.algebra.notation.vocabulary import Vocabulary
from autograder.checks.judging.results import NO_POINTS, Finding
from autograder.kinds.general.symbolic.form_options import FormOptions
from autograder.kinds.general.symbolic.options import Mistake, Remark
from autograder.records import Message, Status
from autograder.rubric import Item


class Outcome(Struct, frozen=True):
    """What came of an answer; ``finding`` is None for full points."""

    finding: Finding | None
    reading: str
    word: Message | None = None
    """For right answers that deserve one."""


class ForeseenAnswer(Struct, frozen=True, eq=False):
    """A mistake or a remark with its tree."""

    option: Mistake | Remark
    tree: Tree
    readings: tuple[Comparer, ...]
    """It is compared under each of these."""


class Stated(Struct, frozen=True, eq=False):
    """What the rubric states about an item, read.

    Attributes:
        item: the item.
        options: how answers are judged.
        accept: the right answers.
        foreseen: remarks and mistakes, in order.
        readings: without assumptions; then, where the item grants some, under them.
        vocabulary: the symbols of the question.
        spoken: the same in the languages of the course, to read answers with.
        where: how errors name the item.
    """

    item: Item
    options: FormOptions
    accept: tuple[Tree, ...]
    foreseen: tuple[ForeseenAnswer, ...]
    readings: tuple[Comparer, ...]
    vocabulary: Vocabulary
    spoken: Vocabulary
    where: str


class Special(Protocol):
    """One item that judges its answers itself."""

    several: ClassVar[bool]
    """An answer in a text cell may consist of several formulas."""

    def judge(self, value: object, reference: Node | None) -> Outcome:
        """Judge what was handed in.

        Args:
            value: a text, a number, a tuple, …
            reference: the reference's formula, where the item uses it.

        Raises:
            Unreadable: it is not in the grammar.
            NotAFormula: its type is none that can be read.
            NoFormula: there is nothing.
        """


def mistaken(option: Mistake | Remark, reading: str) -> Outcome:
    """The outcome of a named mistake."""
    points = option.points if isinstance(option, Mistake) else NO_POINTS
    message = Message(option.code, text=option.text)
    return Outcome(Finding(Status.FAILED, message, f"read as {reading}; {option.code}", points), reading)


def remarked(option: Mistake | Remark, reading: str) -> Outcome:
    """The outcome of a right answer that deserves a word."""
    return Outcome(None, reading, Message(option.code, text=option.text))
