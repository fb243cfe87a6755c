"""The table of wrong answers, ready to be diagnosed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from autograder.formulas.equality.compare import Comparer
from autograder.formulas.mistakes.diagnose import Diagnosis, Difference
from autograder.formulas.nodes import Node
from autograder.formulas.notation.parse import parse
from autograder.formulas.notation.several import parse_single
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.values.points import Points

TABLE = Path(__file__).with_name("wrong_answers.toml")


class Question(Struct, frozen=True, eq=False):
    """A right formula, and how it is compared."""

    right: Node
    vocabulary: Vocabulary
    readings: tuple[Comparer, ...]
    diagnosis: Diagnosis


class Case(Struct, frozen=True, eq=False):
    """One wrong answer."""

    name: str
    right: str
    wrong: str
    misconception: str
    question: Question
    domains: dict[str, str]

    @property
    def tree(self) -> Node:
        """The wrong answer, read."""
        return parse(self.wrong, self.question.vocabulary)

    def difference(self) -> Difference | None:
        """What is said about it."""
        return self.question.diagnosis.find_difference(self.tree)


@cache
def cases() -> tuple[Case, ...]:
    """Every wrong answer of the table."""
    return tuple(_read())


def _read() -> Iterator[Case]:
    for key in tomllib.loads(TABLE.read_text(encoding="utf-8"))["key"]:
        made = question(key["right"], key["symbols"], key.get("assume", ()))
        for wrong, misconception in key["wrong"].items():
            yield Case(key["name"], key["right"], wrong, misconception, made, key["symbols"])


def question(right: str, domains: dict[str, str], assume: Sequence[str] = ()) -> Question:
    """A question that asks for a formula in symbols of these domains."""
    vocabulary = Vocabulary({name: Symbol(domain=domain) for name, domain in domains.items()})
    comparer = Comparer(Points(vocabulary.domains, b"a test"))
    tree = parse(right, vocabulary)
    granted = (
        [comparer.with_assumptions([parse_single(text, vocabulary) for text in assume])] if assume else []
    )
    return Question(tree, vocabulary, (comparer, *granted), Diagnosis([tree], [comparer, *granted]))
