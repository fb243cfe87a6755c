"""Answers that fit the variant of somebody else, where they do not fit the student's own.

It is a remark for staff and never a mark: how many variants an answer fits is said beside it, because a
misconception of one's own can look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.checks.base import Check, Evidence, Observations
from autograder.grading.expected import Expected
from autograder.records import ItemResult, Note, Status
from autograder.rubric import Question
from autograder.variants.drawing import telling_lines

CODE = "fits-another-variant"
MOST_JUDGED = 500
"""Different forms of one question that an answer is judged against."""
_MOST_NAMED = 5


class QuestionVariant(Struct, frozen=True, eq=False):
    """One form of a question, and who was asked it."""

    question: Question
    check: Check
    expected: Sequence[Observations]
    students: tuple[str, ...] = ()

    @property
    def items(self) -> frozenset[str]:
        """The ids of its items."""
        return frozenset(item.id for item in self.question.items)


class ClassVariants(Struct, frozen=True, eq=False):
    """What a class was asked: the forms of each question that is not the same for all, by its id."""

    forms: Mapping[str, Sequence[QuestionVariant]] = {}
    lines: Mapping[str, Mapping[str, Sequence[str]]] = {}
    """Where faults are planted: question id → fault → the lines of code that give it away."""

    @classmethod
    def of(
        cls, variants: Iterable[tuple[Assignment, Expected, Sequence[str]]], common: Assignment
    ) -> ClassVariants:
        """Collect the forms of every question.

        Args:
            variants: each variant of the class, what is expected of it, and who has it.
            common: the assignment, to tell which questions differ at all.
        """
        forms: dict[str, dict[str, QuestionVariant]] = {}
        for assignment, expected, students in variants:
            for question in assignment.rubric.questions:
                check = assignment.checks[question.id]
                if check is common.checks[question.id]:
                    continue
                known, name = forms.setdefault(question.id, {}), repr(question)
                form = known.get(name) or QuestionVariant(question, check, expected.get(question.id, ()))
                known[name] = replace(form, students=(*form.students, *students))
        catalogues = common.manifest.catalogues if common.manifest else {}
        planted = common.rubric.draws.planted.values() if common.rubric.draws else ()
        lines = {
            one.question: {fault.id: fault.lines for fault in catalogues.get(one.faults, ()) if fault.lines}
            for one in planted
        }
        return cls({name: tuple(known.values()) for name, known in forms.items()}, lines)

    def remark(self, student: str, evidence: Evidence, results: Sequence[ItemResult]) -> Note | None:
        """A remark where an answer is what somebody else's variant asks for, and not the student's own.

        Args:
            student: whose answer.
            evidence: what ``results`` were judged from.
            results: of the student's own variant.
        """
        forms = self.forms.get(results[0].question, ()) if results and evidence.answer.changed else ()
        others = [form for form in forms if student not in form.students]
        if not others:
            return None
        question = results[0].question
        if question in self.lines:
            foreign = self._planted_in(evidence.answer.source, question) - {one.item for one in results}
            fitting = [form for form in others if foreign <= form.items] if foreign else []
        elif any(result.status is Status.FAILED for result in results):
            fitting = [form for form in others[:MOST_JUDGED] if _fits(form, evidence)]
        else:
            return None
        names = [name for form in fitting for name in form.students]
        return _note(question, names, sum(len(form.students) for form in forms)) if names else None

    def _planted_in(self, source: str, question: str) -> frozenset[str]:
        """The faults whose code stands in a text; what the code does is no matter here."""
        written = telling_lines(source)
        return frozenset(fault for fault, lines in self.lines[question].items() if written.issuperset(lines))


def _fits(form: QuestionVariant, evidence: Evidence) -> bool:
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
