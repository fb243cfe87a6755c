"""The kind ``memorisation``: how much of a text occurs verbatim in a corpus.

The student's function is asked about hidden texts, and its numbers are compared with those that are computed
here. A report is a text that the student generated, with the numbers: they are computed again from the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta, Struct

from autograder.checks.base import Draw, Evidence
from autograder.checks.itemwise import OracleCheck
from autograder.checks.judging.oracle import MistakeWorth, matching_mistakes
from autograder.checks.judging.results import (
    Finding,
    failed,
    first_failure,
    observations_at,
    reference_value,
    repeated_value,
    review,
)
from autograder.checks.kind import Kind
from autograder.checks.options import place
from autograder.checks.values.arrays import numbers
from autograder.checks.values.quoting import type_name
from autograder.errors import RubricError
from autograder.records import Answer, Call, Scenario
from autograder.rubric import Item

Text = Sequence[int]


def longest_overlap(generated: Text, corpus: Sequence[Text]) -> int:
    """Tokens in the longest piece of the generated text that occurs in one text; 0 when none occurs."""
    longest = 0
    for text in corpus:
        ending: dict[int, int] = {}  # where in the text → length of the common piece that ends there
        places: dict[int, list[int]] = {}
        for at, token in enumerate(text):
            places.setdefault(token, []).append(at)
        for token in generated:
            ending = {at: ending.get(at - 1, 0) + 1 for at in places.get(token, ())}
            longest = max([longest, *ending.values()])
    return longest


def memorised_share(generated: Text, corpus: Sequence[Text], n: int) -> float:
    """Share of the generated text's n-grams, each counted as often as it stands there, that occur."""
    known = {tuple(text[start : start + n]) for text in corpus for start in range(len(text) - n + 1)}
    total = len(generated) - n + 1
    if total < 1:
        return 0.0
    return sum(tuple(generated[start : start + n]) in known for start in range(total)) / total


def tokens_of(value: Any) -> list[int] | None:
    """Token ids, from a list or an array with one axis; None for anything else."""
    if isinstance(value, list | tuple) and not value:
        return []
    found = numbers(value)
    if found is None or found.kind != "int" or found.array.ndim != 1:
        return None
    tokens: list[int] = found.array.tolist()
    return tokens


NEAR = 1e-12
"""Difference of shares that rounding explains."""
MOST_TOKENS = 4096
"""In a report; longer ones are not measured."""
Count = Annotated[int, Meta(ge=1, le=200)]


class MemorisationQuestion(Struct, frozen=True):
    """Options of a ``memorisation`` question."""

    rounds: Count = 36
    texts: Count = 4
    length: Count = 10
    """Tokens of each text."""
    generated: Count = 16
    """Tokens of the text that is measured; in every fourth round it is shorter than an n-gram."""
    copied: Count = 6
    """Tokens that are copied from one of the texts; in every fourth round over the border of two."""
    vocabulary: Annotated[int, Meta(ge=2, le=1000)] = 8
    n: tuple[Count, ...] = (1, 2, 3)
    """Sizes of n-grams, one of them in each round, by turns."""
    report: str = ""
    """A variable: ``{"tokens": [...], "longest": ..., "share": ...}``, about the reference's corpus."""
    report_n: Count = 3
    report_tokens: Count = 12
    """How many tokens the reported text has at least."""


class MemorisationItem(Struct, frozen=True):
    """Options of an item of a ``memorisation`` question."""

    measure: Literal["longest", "share", "report"]
    mistake: tuple[MistakeWorth, ...] = ()


class Round(Struct, frozen=True):
    """The arguments of one call."""

    generated: list[int]
    corpus: list[list[int]]
    n: int


class MemorisationCheck(OracleCheck[MemorisationQuestion, MemorisationItem]):
    """One function on hidden texts, and a report."""

    kind: ClassVar[str] = "memorisation"
    question_type = MemorisationQuestion
    item_type = MemorisationItem
    example: ClassVar[str] = "reference/memorisation_questions.py"

    def prepare(self) -> None:
        """Refuse sizes that do not fit together, and a report that has no name."""
        super().prepare()
        where = place(self.question)
        if self.options.copied > min(self.options.length, self.options.generated):
            raise RubricError("expected at most length and generated", where, "copied")
        if not self.options.n:
            raise RubricError("at least one size is needed", where, "n")
        for item, options in self.automatic:
            if options.measure == "report" and not self.options.report:
                raise RubricError("the question names no report", place(self.question, item), "measure")

    def asked(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """One call for each round; then the report."""
        del answer
        report = self.options.report
        read = (Scenario(f"{self.question.id}: report", (Call(report, read=True),)),) if report else ()
        return (*self._calls("", draw), *read)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The same of the oracle; then its corpus."""
        corpus = Call(self.question.answer, attribute="corpus", read=True)
        return (*self._calls("expected", draw), Scenario(f"{self.question.id}: corpus", (corpus,)))

    def round(self, number: int, draw: Draw) -> Round:
        """The arguments of one round: random texts, and a copied piece in the generated one."""
        options, generator = self.options, draw.generator(f"round {number}")
        corpus = generator.integers(1, options.vocabulary + 1, (options.texts, options.length))
        n = options.n[number % len(options.n)]
        if number % 4 == 3:
            generated = generator.integers(1, options.vocabulary + 1, n - 1)
        else:
            generated = generator.integers(1, options.vocabulary + 1, options.generated)
            place_there = int(generator.integers(options.generated - options.copied + 1))
            if number % 4 == 1 and options.texts > 1:
                start = options.length - options.copied // 2  # over the border of the first two texts
            else:
                text = int(generator.integers(options.texts))
                start = text * options.length + int(generator.integers(options.length - options.copied + 1))
            piece = corpus.ravel()[start : start + options.copied]
            generated[place_there : place_there + options.copied] = piece
        return Round(generated.tolist(), corpus.tolist(), n)

    def _calls(self, attribute: str, draw: Draw) -> tuple[Scenario, ...]:
        rounds = (self.round(number, draw) for number in range(self.options.rounds))
        return tuple(
            Scenario(
                f"{self.question.id}: {number}",
                (
                    Call(
                        self.question.answer,
                        attribute=attribute,
                        args=(one.generated, one.corpus, one.n),
                        seed=0,
                        grad=True,
                    ),
                ),
            )
            for number, one in enumerate(rounds)
        )

    def verdict(self, item: Item, options: MemorisationItem, evidence: Evidence) -> Finding | None:
        """The first round whose measure is wrong, or what is wrong with the report."""
        del item
        if options.measure == "report":
            return self._report(evidence)
        first, found = None, []
        for number in range(self.options.rounds):
            finding, codes = self._round(number, options.measure, evidence)
            if finding is not None:
                found.append(codes)
                first = first or finding
        return self.known(first, found, options)

    def _round(self, number: int, measure: str, evidence: Evidence) -> tuple[Finding | None, list[str]]:
        asked, name = self.round(number, evidence.drawn), self.question.answer
        what = f"{name} [n = {asked.n}, {len(asked.generated)} tokens]"
        value, finding = repeated_value(observations_at(evidence.observed, number), 0, 1, name, what)
        right = _measured(asked.generated, asked.corpus, asked.n)
        finding = finding or _differs(value, measure, right, what)
        if value is None or finding is None:
            return finding, []
        reply, _ = reference_value(observations_at(evidence.expected, number), 0)
        return finding, matching_mistakes(
            reply,
            lambda wrong: isinstance(wrong, Mapping) and _differs(value, measure, wrong, what) is None,
        )

    def _report(self, evidence: Evidence) -> Finding | None:
        """The numbers of the report, against the text that it is about."""
        name, options = self.options.report, self.options
        told, finding = reference_value(observations_at(evidence.expected, options.rounds), 0)
        corpus = [tokens_of(text) for text in told] if isinstance(told, list | tuple) else []
        texts = [text for text in corpus if text is not None]
        if finding is not None or not texts or len(texts) < len(corpus):
            return finding or review(f"{name}: the reference has no corpus")
        observations = observations_at(evidence.observed, options.rounds)
        finding = first_failure(observations, 1, name, name)
        if finding is not None:
            return finding
        value = observations[0].value
        tokens = tokens_of(value.get("tokens")) if isinstance(value, Mapping) else None
        if tokens is None:
            return failed("memorisation.report", f"{name}: {type_name(value)}", what=name)
        if not options.report_tokens <= len(tokens) <= MOST_TOKENS:
            count, least = str(len(tokens)), str(options.report_tokens)
            return failed(
                "memorisation.report-length", f"{name}: {count}", what=name, count=count, least=least
            )
        right = _measured(tokens, texts, options.report_n)
        found = (_differs(value, measure, right, name) for measure in ("longest", "share"))
        finding = next((one for one in found if one is not None), None)
        if finding is None or finding.code == "memorisation.entry":
            return finding
        return failed("memorisation.report-numbers", finding.staff, what=name)


def _measured(generated: list[int], corpus: list[list[int]], n: int) -> dict[str, float]:
    return {"longest": longest_overlap(generated, corpus), "share": memorised_share(generated, corpus, n)}


def _differs(value: Any, measure: str, right: Mapping[str, Any], what: str) -> Finding | None:
    """Why one entry of what was returned is not right."""
    entry = value.get(measure) if isinstance(value, Mapping) else None
    given, expected = numbers(entry), numbers(right.get(measure))
    if given is None or given.array.ndim or given.kind not in ("int", "float"):
        staff = f"{what}: {measure} is {type_name(entry)}"
        return failed("memorisation.entry", staff, what=what, entry=measure)
    if expected is None or expected.array.ndim or expected.kind not in ("int", "float"):
        return review(f"{what}: {measure}: nothing to compare with")
    number, wanted = float(given.array), float(expected.array)
    if np.isfinite(number) and abs(number - wanted) <= NEAR:
        return None
    return failed(f"memorisation.{measure}", f"{what}: {number!r}, expected {wanted!r}", what=what)


KIND = Kind(MemorisationCheck, form="code")
