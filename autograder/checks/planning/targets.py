"""Where an answer comes from: a literal in the source, a variable in the box, or calls on cases.

Shared by the kinds that compare a value (count, shape, value). A plan depends only on the question, the
draw and the answer's text, so `judge` can find the scenarios again by recomputing their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from autograder.checks.base import Draw, Evidence, Observations
from autograder.checks.judging.oracle import OracleReply, read_reply
from autograder.checks.judging.results import (
    Finding,
    failed,
    no_answer,
    observations_at,
    reference_value,
    repeated_value,
)
from autograder.checks.options import (
    AnswerItem,
    CallOptions,
    Case,
    check_cases,
    check_mistakes,
    named_cases,
    place,
)
from autograder.checks.planning.drawing import SAMPLE, Inputs, plain
from autograder.checks.planning.subject import asking
from autograder.checks.values.literal import Literal, answer_literal
from autograder.checks.values.quoting import type_name
from autograder.errors import RubricError
from autograder.records import Answer, Call, Scenario
from autograder.rubric import Item, Question
from autograder.wording import Phrase


class ValueTarget(Struct, frozen=True):
    """One value that an item judges: a variable, or the result of one case."""

    name: str
    case: str = ""
    call: Phrase = ""
    """The call of the case in words."""

    @property
    def what(self) -> Phrase:
        """In words."""
        return self.call or self.name


class FoundValue(Struct, frozen=True, eq=False):
    """The value of a target, or what is wrong with it."""

    value: Any = None
    finding: Finding | None = None


class Targets:
    """The targets of one question: plans their calls and finds their values in the evidence."""

    def __init__(
        self,
        question: Question,
        options: CallOptions,
        items: Mapping[str, AnswerItem],
        *,
        named: bool = True,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Collect what the items judge.

        Args:
            question: the question.
            options: its cases and sizes.
            items: the options of its automatic items.
            named: the answer must have a name; otherwise it may be a text cell.
            config: what the reference is called with; it is then an oracle (`checks.judging.oracle`).

        Raises:
            RubricError: a case cannot be drawn, an item names no case, or nothing says what is right.
        """
        self.cases: dict[str, Case] = named_cases(options, question)
        self._question = question
        self._options = options
        self._items = items
        self._named = named
        self._config = config
        if config is not None and (self.cases or not question.reference):
            raise RubricError(
                "it needs a reference, and there can be no cases",
                place(question),
                "config",
            )
        inputs = Inputs(options, SAMPLE)
        for name, case in self.cases.items():
            inputs.case(name, case)
        for item in question.items:
            if item.id in items:
                self._check(item, items[item.id])

    def _check(self, item: Item, options: AnswerItem) -> None:
        where = place(self._question, item)
        if self._named and not (options.answer or self._question.answer):
            raise RubricError("the name the student assigns is missing", where, "answer")
        if options.answer and self.cases:
            raise RubricError("cases always call the question's own answer", where, "answer")
        check_cases(item, options, self.cases, self._question)
        check_mistakes(item, options.mistake, self._question)

    def needs_reference(self, item: Item) -> bool:
        """Whether something the item judges has no stated value."""
        return any(not target.case or self.cases[target.case].value is None for target in self.of_item(item))

    def of_item(self, item: Item) -> tuple[ValueTarget, ...]:
        """What one item judges."""
        options = self._items[item.id]
        name = options.answer or self._question.answer
        if not self.cases:
            return (ValueTarget(name),)
        return tuple(self._called(name, case) for case in options.cases or self.cases)

    @property
    def every(self) -> list[ValueTarget]:
        """What all items judge, each once, in the order of the items."""
        judged = (self.of_item(item) for item in self._question.items if item.id in self._items)
        return list(dict.fromkeys(target for some in judged for target in some))

    def plan(self, answer: Answer, draw: Draw) -> tuple[Scenario, ...]:
        """One scenario for each target whose value does not stand in the source."""
        return tuple(self._scenario(target, draw) for target in self._asked(answer))

    def trial_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """One scenario for each of `every`."""
        return tuple(self._scenario(target, draw) for target in self.every)

    def reference_plan(self, draw: Draw) -> tuple[Scenario, ...]:
        """One scenario for each case without a stated value; without cases one call of the reference."""
        if not self._question.reference:
            return ()
        if not self.cases:
            args = () if self._config is None else (plain(self._config),)
            return (Scenario(f"{self._question.id}: reference", (Call(self._question.answer, args=args),)),)
        answer = self._question.answer
        return tuple(self._scenario(self._called(answer, case), draw) for case in self._referenced())

    def value(self, target: ValueTarget, key: str | int | None, evidence: Evidence) -> FoundValue:
        """What the student has there."""
        literal = None if target.case else stated(evidence.answer, target.name)
        if literal is None:
            asked = self._asked(evidence.answer)
            return self._returned(target, key, observations_at(evidence.observed, asked.index(target)))
        return _entry(literal.value, key, target)

    def of_trial(
        self, target: ValueTarget, key: str | int | None, observed: Sequence[Observations]
    ) -> FoundValue:
        """What a trial has there that was asked `trial_plan`."""
        return self._returned(target, key, observations_at(observed, self.every.index(target)))

    def _returned(self, target: ValueTarget, key: str | int | None, came: Observations) -> FoundValue:
        calls = self._options.times if target.case else 1
        value, finding = repeated_value(came, 0, calls, target.name, target.what)
        return FoundValue(finding=finding) if finding is not None else _entry(value, key, target)

    def expected(self, target: ValueTarget, key: str | int | None, evidence: Evidence) -> FoundValue:
        """What the reference has there; the finding is our own fault."""
        right = self.cases[target.case].value if target.case else None
        if right is not None:
            return FoundValue(plain(right))
        index = self._referenced().index(target.case) if target.case else 0
        value, finding = reference_value(observations_at(evidence.expected, index), 0)
        if finding is not None:
            return FoundValue(finding=finding)
        if self._config is not None:
            value, key = self.said(key, evidence).right, None
        found = _entry(value, key, target)
        if found.finding is not None:
            return FoundValue(finding=reference_value((), 0)[1])
        return found

    def arguments(self, target: ValueTarget, draw: Draw) -> tuple[Any, ...]:
        """Return the arguments of a target's call; none for a variable."""
        if not target.case:
            return ()
        args, kwargs = Inputs(self._options, draw).case(target.case, self.cases[target.case])
        return (*args, *kwargs.values())

    def said(self, key: str | int | None, evidence: Evidence) -> OracleReply:
        """What a reference with a ``config`` says of one entry; nothing where it was not asked."""
        if self._config is None:
            return OracleReply()
        value, _ = reference_value(observations_at(evidence.expected, 0), 0)
        return read_reply(value, () if key is None else (key,))

    def _called(self, name: str, case: str) -> ValueTarget:
        return ValueTarget(name, case, self.cases[case].asked(name, case))

    def _referenced(self) -> list[str]:
        return [name for name, case in self.cases.items() if case.value is None]

    def _asked(self, answer: Answer) -> list[ValueTarget]:
        """Targets that need the box, each once, in the order of the items."""
        return [target for target in self.every if target.case or stated(answer, target.name) is None]

    def _scenario(self, target: ValueTarget, draw: Draw) -> Scenario:
        name = f"{self._question.id}: {target.what}"
        if not target.case:
            return Scenario(name, (Call(target.name, read=True),))
        case = self.cases[target.case]
        arguments = Inputs(self._options, draw).case(target.case, case)
        call = asking(target.name, self._options, arguments, attribute=case.method, seed=case.seed)
        return Scenario(name, (call,) * self._options.times)


def stated(answer: Answer, name: str) -> Literal | None:
    """The value that can be read without running anything: a text cell's own text, or a plain literal."""
    if answer.cell_type == "markdown":
        return Literal(answer.source.strip().strip("$`*").strip())
    return answer_literal(answer.source, name)


def nothing_written(value: Any) -> bool:
    """Whether a text is no answer: blank, or the dots that stood there."""
    return isinstance(value, str) and not value.strip(" \t\r\n$.…")


def _entry(value: Any, key: str | int | None, target: ValueTarget) -> FoundValue:
    """One entry of a dictionary or sequence, or the whole value."""
    if value is None:
        return FoundValue(finding=no_answer("value.none", f"{target.what} is None", what=target.what))
    if key is None:
        return FoundValue(value)
    if isinstance(value, Mapping) and key in value:
        return FoundValue(value[key])
    if isinstance(key, int) and isinstance(value, list | tuple) and -len(value) <= key < len(value):
        return FoundValue(value[key])
    if not isinstance(value, Mapping | list | tuple):  # a pandas Series may well have the entry
        form = type_name(value)
        staff = f"{target.what} has the type {form}, whose entries are not read"
        return FoundValue(finding=failed("value.entries", staff, what=target.what, form=form))
    entry = f"[{key!r}]"
    finding = failed("value.entry", f"{target.what}: no entry {entry}", what=target.what, entry=entry)
    return FoundValue(finding=finding)
