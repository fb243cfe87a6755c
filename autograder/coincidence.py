"""Answers that fit the variant of somebody else, where they do not fit the student's own.

It is a remark for staff and never a mark: how many variants an answer fits is said beside it, because a
slip of one's own can look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.checks.base import Check, Evidence, Observations
from autograder.expected import Expected
from autograder.records import ItemResult, Note, Status
from autograder.rubric import Question

CODE = "fits-another-variant"
MOST_JUDGED = 500
"""Different forms of one question that an answer is judged against."""
_MOST_NAMED = 5


@runtime_checkable
class ShowsFaults(Protocol):
    """A check that can say which faults an answer has, planted in its own variant or not."""

    def present(self, evidence: Evidence) -> frozenset[str]:
        """The ids of the faults that were seen."""


class Form(Struct, frozen=True, eq=False):
    """One form of a question, and who was asked it."""

    question: Question
    check: Check
    expected: Sequence[Observations]
    students: tuple[str, ...] = ()

    @property
    def items(self) -> frozenset[str]:
        """The ids of its items."""
        return frozenset(item.id for item in self.question.items)


class Asked(Struct, frozen=True, eq=False):
    """What a class was asked: the forms of each question that is not the same for all, by its id."""

    forms: Mapping[str, Sequence[Form]] = {}

    @classmethod
    def of(cls, variants: Iterable[tuple[Assignment, Expected, Sequence[str]]], common: Assignment) -> Asked:
        """Collect the forms of every question.

        Args:
            variants: each variant of the class, what is expected of it, and who has it.
            common: the assignment, to tell which questions differ at all.
        """
        forms: dict[str, dict[str, Form]] = {}
        for assignment, expected, students in variants:
            for question in assignment.rubric.questions:
                check = assignment.checks[question.id]
                if check is common.checks[question.id]:
                    continue
                known, name = forms.setdefault(question.id, {}), repr(question)
                form = known.get(name) or Form(question, check, expected.get(question.id, ()))
                known[name] = replace(form, students=(*form.students, *students))
        return cls({name: tuple(known.values()) for name, known in forms.items()})

    def remark(
        self, student: str, check: Check, evidence: Evidence, results: Sequence[ItemResult]
    ) -> Note | None:
        """A remark where an answer is what somebody else's variant asks for, and not the student's own.

        Args:
            student: whose answer.
            check: of the student's own variant.
            evidence: what ``results`` were judged from.
            results: of the student's own variant.
        """
        forms = self.forms.get(results[0].question, ()) if results and evidence.answer.changed else ()
        others = [form for form in forms if student not in form.students]
        if not others:
            return None
        if isinstance(check, ShowsFaults):
            present, own = check.present(evidence), {result.item for result in results}
            fitting = [] if present <= own else [form for form in others if present <= form.items]
        elif any(result.status is Status.FAILED for result in results):
            fitting = [form for form in others[:MOST_JUDGED] if _fits(form, evidence)]
        else:
            return None
        names = [name for form in fitting for name in form.students]
        return _note(results[0].question, names, sum(len(form.students) for form in forms)) if names else None


def _fits(form: Form, evidence: Evidence) -> bool:
    """Whether every automatic item of a form earns everything."""
    judged = form.check.judge(replace(evidence, expected=form.expected))
    automatic = [result for result in judged if not form.question.item(result.item).manual]
    return bool(automatic) and all(
        result.status is Status.PASSED and result.points == result.possible for result in automatic
    )


def _note(question: str, names: Sequence[str], asked: int) -> Note:
    named = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return Note(
        CODE,
        f"The answer does not fit this student's variant, but that of {named}{more}: {len(names)} of the "
        f"{asked} that were handed out. The more variants it fits, the likelier it is a coincidence.",
        question,
    )
