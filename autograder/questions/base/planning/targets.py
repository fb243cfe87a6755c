"""Sources of an answer's values: literals in the source, or variables in the sandbox.

Shared by the kinds that compare a value (number and shape). A plan depends only on the question and the
answer's text, so that `judge` can find the calls again by recomputing their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from autograder.core.errors import RubricError
from autograder.core.records import Answer, Call
from autograder.questions.base.base import Evidence
from autograder.questions.base.judging.oracle import OracleReply, read_reply
from autograder.questions.base.judging.results import (
    Finding,
    make_failure,
    make_no_answer,
    make_review,
    read_observed,
    read_reference,
)
from autograder.questions.base.options import AnswerItem, check_mistakes, locate_question, to_plain
from autograder.questions.base.values.literal import Literal, find_answer_literal
from autograder.questions.base.values.quoting import describe_type
from autograder.rubric import Item, Question


class FoundValue(Struct, frozen=True, eq=False):
    """The value of a variable, or the finding that explains why there is none."""

    value: Any = None
    finding: Finding | None = None


class Targets:
    """The variables that one question reads: plans the calls and finds the values in the evidence."""

    def __init__(
        self,
        question: Question,
        items: Mapping[str, AnswerItem],
        *,
        named: bool = True,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Collect the variables that the items judge.

        Args:
            question: the question.
            items: the options of its automatic items.
            named: the answer must have a name; otherwise it may be a text cell.
            config: the argument of the reference, which is then an oracle (`questions.base.judging.oracle`).

        Raises:
            RubricError: an answer has no name, or there is a ``config`` and no reference.
        """
        self._question = question
        self._items = items
        self._named = named
        self._config = config
        if config is not None and not question.reference:
            raise RubricError("it needs a reference", locate_question(question), "config")
        for item in question.items:
            if item.id in items:
                self._check_item(item, items[item.id])

    def _check_item(self, item: Item, options: AnswerItem) -> None:
        if self._named and not (options.answer or self._question.answer):
            where = locate_question(self._question, item)
            raise RubricError("the name the student assigns is missing", where, "answer")
        check_mistakes(item, options.mistake, self._question)

    def get_name(self, item: Item) -> str:
        """Return the name of the variable that one item reads."""
        return self._items[item.id].answer or self._question.answer

    def plan_calls(self, answer: Answer) -> tuple[Call, ...]:
        """Return the calls for variables that are no literals in the source."""
        return tuple(Call(name, read=True) for name in self._list_observed(answer))

    def plan_reference_calls(self) -> tuple[Call, ...]:
        """Return one call of the reference, if there is one."""
        if not self._question.reference:
            return ()
        args = () if self._config is None else (to_plain(self._config),)
        return (Call(self._question.answer, args=args),)

    def find_value(self, name: str, key: str | int | None, evidence: Evidence) -> FoundValue:
        """Return the value of the student's variable, or of its entry under a key."""
        literal = find_literal(evidence.answer, name)
        if literal is not None:
            return self._get_entry(literal.value, key, name)
        names = self._list_observed(evidence.answer)
        # Observations are in the order of the plan, which depends only on the answer's text.
        value, finding = read_observed(evidence.observed, names.index(name), name)
        return FoundValue(finding=finding) if finding is not None else self._get_entry(value, key, name)

    def find_expected(self, name: str, key: str | int | None, evidence: Evidence) -> FoundValue:
        """Return the reference's value at this key; a finding is our own fault."""
        value, finding = read_reference(evidence.expected)
        if finding is not None:
            return FoundValue(finding=finding)
        if self._config is not None:
            value, key = self.read_oracle(key, evidence).right, None
        expected = self._get_entry(value, key, name)
        # A missing entry of the reference is our fault, so replace the finding, which blames the student.
        if expected.finding is not None:
            return FoundValue(finding=read_reference(())[1])
        return expected

    def read_oracle(self, key: str | int | None, evidence: Evidence) -> OracleReply:
        """Return the reply of a reference with a ``config`` about one entry; empty if it was not called."""
        if self._config is None:
            return OracleReply()
        value, _ = read_reference(evidence.expected)
        return read_reply(value, () if key is None else (key,))

    def _get_entry(self, value: Any, key: str | int | None, name: str) -> FoundValue:
        """Return one entry of a dictionary or sequence, or the whole value."""
        if value is None:
            return FoundValue(finding=make_no_answer("value.none", f"{name} is None", what=name))
        if key is None:
            return FoundValue(value)
        if isinstance(value, Mapping) and key in value:
            return FoundValue(value[key])
        entry = f"[{key!r}]"
        if isinstance(key, int) and isinstance(value, list | tuple):
            keys = self._list_positions(name)
            # A list for a dictionary with the keys 1 to n: its first element is the answer to 1.
            first = 1 if keys == [*range(1, len(value) + 1)] else 0
            if -len(value) <= key - first < len(value):
                return FoundValue(value[key - first])
            staff = f"{name}: {len(value)} elements without keys; the question numbers {len(keys)} entries"
            return FoundValue(finding=make_review(staff, "value.entry", what=name, entry=entry))
        if not isinstance(value, Mapping | list | tuple):  # a pandas Series may well have the entry
            form = describe_type(value)
            staff = f"{name} has the type {form}, whose entries are not read"
            return FoundValue(finding=make_failure("value.entries", staff, what=name, form=form))
        return FoundValue(
            finding=make_failure("value.entry", f"{name}: no entry {entry}", what=name, entry=entry)
        )

    def _list_positions(self, name: str) -> list[int]:
        """Return the numbers of the entries that items read from one variable, sorted."""
        keys = (self._items[item.id].key for item in self._question.items if self._is_read(item, name))
        return sorted({key for key in keys if isinstance(key, int)})

    def _is_read(self, item: Item, name: str) -> bool:
        return item.id in self._items and self.get_name(item) == name

    def _list_observed(self, answer: Answer) -> list[str]:
        """Return the variables that need the sandbox, each once, in the order of the items."""
        names = (self.get_name(item) for item in self._question.items if item.id in self._items)
        return [name for name in dict.fromkeys(names) if find_literal(answer, name) is None]


def find_literal(answer: Answer, name: str) -> Literal | None:
    """Return the value that can be read without running anything: a text cell's text, or a plain literal."""
    if answer.cell_type == "markdown":
        return Literal(answer.source.strip().strip("$`*").strip())
    return find_answer_literal(answer.source, name)


def is_unwritten_value(value: Any) -> bool:
    """Return whether a text is no answer: blank, or only the dots of the placeholder."""
    return isinstance(value, str) and not value.strip(" \t\r\n$.…")
