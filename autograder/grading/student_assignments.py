"""Each student's variant: the personal assignment, its expected values, and remarks about it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from autograder.assignment import Assignment
from autograder.checks.base import draw_scope
from autograder.errors import NotebookError
from autograder.grading.expected import Expected, expected_values
from autograder.notebook.fill import label_of
from autograder.records import Note
from autograder.sandbox.pool import Pool
from autograder.variants.drawing import canonical_id


class StudentAssignment(Struct, frozen=True, eq=False):
    """The assignment by which one student's submission is graded."""

    assignment: Assignment
    expected: Expected
    notes: tuple[Note, ...] = ()
    own: str = ""
    """Scope of the hidden inputs, if they differ between students (`checks.base.draw_scope`)."""


class StudentAssignments:
    """The variants of a class. Thread safe: it does not change after construction.

    Args:
        assignment: the common one.
        secret: the course's.
        pool: provides the reference's sandbox, if expected values are not known yet.
        drawn: students with a variant that was not given out, by id; for verifying variants.

    Raises:
        CourseError: a reference solution is not usable.
        SandboxUnavailable: code cannot be confined on this machine.
    """

    def __init__(
        self,
        assignment: Assignment,
        secret: bytes,
        pool: Pool,
        drawn: Mapping[str, Assignment] | None = None,
    ) -> None:
        self._common = assignment
        self._secret, self._pool = secret, pool
        self._labels: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._refused: dict[str, Exception] = {}
        variants: dict[str, Assignment] = {}
        for student in assignment.manifest.students if assignment.manifest else ():
            try:
                variant = assignment.variant_of(student)
                # Students with equal variants share one assignment and its checks.
                if variant.digest not in variants:
                    variants[variant.digest] = assignment.asked(variant)
                self._labels[student] = variant.label
                self._digests[student] = variant.digest
            except Exception as error:  # noqa: BLE001 - raised when this student is graded; affects no other
                self._refused[student] = error
        every = (*variants.values(), *(drawn or {}).values())
        # One call for all variants, so that they share a box and equal plans.
        common, *expected = expected_values(assignment, pool, every)
        self.common = StudentAssignment(assignment, common)
        sittings = [StudentAssignment(one, values) for one, values in zip(every, expected, strict=True)]
        self._of_variant = dict(zip(variants, sittings[: len(variants)], strict=True))
        self._drawn = dict(zip(drawn or {}, sittings[len(variants) :], strict=True))

    def of(
        self, student: str, notebooks: Mapping[str, bytes | NotebookError], attempt: str = ""
    ) -> StudentAssignment:
        """Return the variant of one student.

        Args:
            student: the id.
            notebooks: the submitted notebooks; used only for remarks.
            attempt: SHA-256 of the whole submission.

        Raises:
            CourseError: the student's variant cannot be determined, or a notebook that was given out is
                missing.
            RubricError: the rubric is not valid with the student's variant.
        """
        sitting = self._of(student, notebooks)
        own = draw_scope(self._common.rubric, canonical_id(student), attempt)
        return replace(sitting, own=own) if own else sitting

    def _of(self, student: str, notebooks: Mapping[str, bytes | NotebookError]) -> StudentAssignment:
        if student in self._drawn:
            return self._drawn[student]
        if self._common.manifest is None:
            return self.common
        own = canonical_id(student)
        if own in self._refused:
            raise self._refused[own]
        given = self._common.manifest.of(student)
        written = {label_of(data) for data in notebooks.values() if isinstance(data, bytes)}
        if given is None:
            known = self._students_of(written)
            text = "Nothing personal was handed out to this student; graded by the common variant." + known
            return replace(self.common, notes=(Note("common-variant", text),))
        sitting = self._of_variant[self._digests[own]]
        notes: tuple[Note, ...] = ()
        # Only a remark: labels are in the notebook, which students can edit or exchange.
        if written - {given.variant.label}:
            text = "The notebook does not say that it is this student's." + self._students_of(written)
            notes = (Note("other-notebook", text),)
        return replace(
            sitting, assignment=self._common.with_notebooks(sitting.assignment, given), notes=notes
        )

    def _students_of(self, labels: set[str]) -> str:
        names = [student for student, label in self._labels.items() if label in labels]
        return f" It says that it is that of {', '.join(names[:5])}." if names else ""
