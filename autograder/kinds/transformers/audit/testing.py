"""The form ``test``: a function that is given classes, right ones and wrong ones, and tells them apart.

The classes come as text from the reference and are made in a box of the student's, where anything that is
made can be looked at. So each has a box of its own: among classes side by side, those that agree with most
others are the right ones, and nobody would have to know what is right. And the text is one and the same
program for all of them, apart from which of its switches stand for what; see `reference.audits.specimens`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction

import msgspec
from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations, SecondRound
from autograder.checks.judging.results import (
    Finding,
    first_failure,
    observations_at,
    reference_value,
    review,
)
from autograder.checks.options import CENT
from autograder.checks.values.quoting import quote, quote_value
from autograder.kinds.transformers.audit.options import AuditItem
from autograder.messages import sentences
from autograder.records import Call, Message, Observation, Ref, Scenario, Status, Tensor
from autograder.rubric import Item, Question
from autograder.syntax import UNREADABLE, parsed

_CALLS = 5
"""Of the scenario of one class."""


class Specimen(Struct, frozen=True, forbid_unknown_fields=True):
    """One class, as the reference describes it."""

    source: str
    """Python that defines ``name``."""
    name: str
    right: bool
    group: str = ""
    """Of a wrong class: what it is about, for items and sentences."""


class TestForm:
    """Plans and judges a question about a test."""

    __test__ = False

    def __init__(self, question: Question) -> None:
        """Remember the question, whose answer names the test."""
        self._question = question
        self._name = question.answer

    def plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """Whether there is such a test."""
        del draw
        return (Scenario(f"{self._question.id}: test", (Call(self._name, read=True, keep="test"),)),)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """The classes, in a drawn order and with drawn switches."""
        # As many bits as a key has: of a seed of 31 bits, few words about the classes tell all.
        seed = int.from_bytes(draw.generator("specimens").bytes(16))
        return (Scenario("specimens", (Call(self._name, args=(seed,)),)),)

    def second_round(self, evidence: Evidence) -> SecondRound:
        """Each class in a box and a module of its own; nothing there says which of them it is."""
        specimens, bad = _specimens(evidence)
        found = first_failure(observations_at(evidence.observed, 0), 1, self._name, self._name)
        if bad is not None or found is not None:
            return SecondRound()
        return SecondRound(student=tuple(self._scenario(number, one) for number, one in enumerate(specimens)))

    def _scenario(self, number: int, specimen: Specimen) -> Scenario:
        module, names, made = Ref("module"), Ref("names"), Ref("made")
        return Scenario(
            f"{self._question.id}: class {number + 1}",
            (
                Call("@types", "ModuleType", args=("layers",), keep=module.name),
                Call(module, "__dict__", read=True, keep=names.name),
                Call("@builtins", "exec", args=(specimen.source, names), grad=True),
                Call(module, specimen.name, read=True, keep=made.name),
                Call(self._name, args=(made,), seed=0, grad=True),
            ),
            alone=f"class {number + 1}",
        )

    def judge(self, item: Item, options: AuditItem, evidence: Evidence) -> Finding | None:
        """What is missing for full points; None where nothing is."""
        specimens, bad = _specimens(evidence)
        if bad is not None:
            return bad
        found = first_failure(observations_at(evidence.observed, 0), 1, self._name, self._name)
        if found is not None:
            return found
        asked = [
            (one, observations_at(evidence.again, number))
            for number, one in enumerate(specimens)
            if one.right or not options.groups or one.group in options.groups
        ]
        unknown = set(options.groups) - {one.group for one in specimens if not one.right}
        if unknown or len({one.right for one, _ in asked}) < 2:
            return review(f"no wrong classes of the groups {', '.join(sorted(unknown)) or 'asked for'}")
        ours = [bad for one, some in asked if (bad := _our_fault(one, some)) is not None]
        if ours:
            return ours[0]
        return _rated([(one, _said(some), some) for one, some in asked], item, options)


def _rated(
    said: Sequence[tuple[Specimen, bool | None, Observations]], item: Item, options: AuditItem
) -> Finding | None:
    """Points for ``caught / wrong - rejected / right``, at least 0."""
    right = [word for one, word, _ in said if one.right]
    wrong = [word for one, word, _ in said if not one.right]
    caught, rejected = wrong.count(False), sum(word is not True for word in right)
    rate = max(Fraction(0), Fraction(caught, len(wrong)) - Fraction(rejected, len(right)))
    wanted = Fraction(options.at_least)
    if rate >= wanted:
        return None
    points = Decimal(0)
    if options.credit == "each":
        part = Fraction(item.points) * rate / wanted
        points = (Decimal(part.numerator) / Decimal(part.denominator)).quantize(CENT, ROUND_FLOOR)
    message = _message(said, caught, rejected, len(right), len(wrong), restricted=bool(options.groups))
    staff = f"caught {caught} of {len(wrong)} wrong, rejected {rejected} of {len(right)} right"
    if "got" in message.params:
        staff += f"; no word: {message.params['got']}"
    return Finding(Status.FAILED, message, staff, points)


def _message(
    said: Sequence[tuple[Specimen, bool | None, Observations]],
    caught: int,
    rejected: int,
    right: int,
    wrong: int,
    *,
    restricted: bool,
) -> Message:
    words = [word for _, word, _ in said]
    none = words.count(None)
    if none:
        what = _failure(next(some for _, word, some in said if word is None))
        return Message("audit.test.no-answers", {"none": str(none), "all": str(len(words)), "got": what})
    if len(set(words)) == 1 and not (restricted and words[0]):
        return Message("audit.test.constant")
    numbers = {"wrong": str(wrong), "missed": str(wrong - caught)}
    if rejected:
        counts = {"rejected": str(rejected), "right": str(right), "caught": str(caught)}
        return Message("audit.test.rejects", {**numbers, **counts})
    groups = Counter(one.group for one, word, _ in said if not one.right and word)
    (group, _), *_ = groups.most_common(1)
    code = f"audit.missed.{group}"
    return Message(code if code in sentences() else "audit.missed.other", numbers)


def _said(observations: Observations) -> bool | None:
    """The test's word on a class: True for right; None for no clear word."""
    if len(observations) < _CALLS or not observations[-1].ok:
        return None
    value = observations[-1].value
    array = value.array if isinstance(value, Tensor) else value
    if getattr(getattr(array, "dtype", None), "kind", "") == "b" and getattr(array, "shape", None) == ():
        return bool(array)
    return value if isinstance(value, bool) else None


def _our_fault(specimen: Specimen, observations: Observations) -> Finding | None:
    """What kept a class from being asked about, where that was not the test.

    Whether a class is Python is found out here: in the box, whatever makes it can have been replaced.
    """
    if not observations:
        return review("a class was not asked about")
    if "SyntaxError" in {one.error for one in observations[: _CALLS - 1]}:
        try:
            parsed(specimen.source)
        except UNREADABLE as error:
            return review(f"a class is no Python: {error}")
    return None


def _failure(observations: Observations) -> str:
    """Why there is no word: what was raised, with its text; how the call ended; or what was returned.

    The test has seen a hidden class, and could tell of it here; see `checks.judging.redaction`.
    """
    last: Observation = next((one for one in observations if not one.ok), observations[-1])
    if last.ending is not None:
        return last.ending.value
    if last.error:
        text = quote(last.message)
        return f"{quote(last.error, 60)}: {text}" if text else quote(last.error, 60)
    return quote_value(last.value)


def _specimens(evidence: Evidence) -> tuple[Sequence[Specimen], Finding | None]:
    value, bad = reference_value(observations_at(evidence.expected, 0), 0)
    if bad is not None:
        return (), bad
    try:
        return msgspec.convert(value, tuple[Specimen, ...], strict=True), None
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        return (), review(f"the reference gives no classes: {error}")
