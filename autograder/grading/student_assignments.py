"""Each student's variant: the personal assignment, its expected values, and remarks about it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import NotebookError
from autograder.core.records import Note
from autograder.grading.assignment import Assignment
from autograder.grading.expected import Expected, compute_expected_values
from autograder.notebook.fill import read_label
from autograder.questions.base.base import find_draw_scope
from autograder.rubric.variants.drawing import normalise_id
from autograder.sandbox.pool import Pool


class StudentAssignment(Struct, frozen=True, eq=False):
    """The assignment by which one student's submission is graded."""

    assignment: Assignment
    expected: Expected
    notes: tuple[Note, ...] = ()
    own: str = ""
    """Scope of the hidden inputs, if they differ between students (`checks.base.find_draw_scope`)."""


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
                variant = assignment.get_variant(student)
                # Students with equal variants share one assignment and its checks.
                if variant.digest not in variants:
                    variants[variant.digest] = assignment.apply_variant(variant)
                self._labels[student] = variant.label
                self._digests[student] = variant.digest
            except Exception as error:  # noqa: BLE001 - raised when this student is graded; affects no other
                self._refused[student] = error
        all_variants = (*variants.values(), *(drawn or {}).values())
        # One call for all variants, so that they share a box and equal plans.
        common, *expected = compute_expected_values(assignment, pool, all_variants)
        self.common = StudentAssignment(assignment, common)
        sittings = [
            StudentAssignment(variant_assignment, values)
            for variant_assignment, values in zip(all_variants, expected, strict=True)
        ]
        self._of_variant = dict(zip(variants, sittings[: len(variants)], strict=True))
        self._drawn = dict(zip(drawn or {}, sittings[len(variants) :], strict=True))

    def get_for_student(
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
        sitting = self._find_variant(student, notebooks)
        scope = find_draw_scope(self._common.rubric, normalise_id(student), attempt)
        return replace(sitting, own=scope) if scope else sitting

    def _find_variant(
        self, student: str, notebooks: Mapping[str, bytes | NotebookError]
    ) -> StudentAssignment:
        if student in self._drawn:
            return self._drawn[student]
        if self._common.manifest is None:
            return self.common
        student_id = normalise_id(student)
        if student_id in self._refused:
            raise self._refused[student_id]
        student_release = self._common.manifest.get_release(student)
        written = {read_label(data) for data in notebooks.values() if isinstance(data, bytes)}
        if student_release is None:
            owners = self._describe_owners(written)
            text = "Nothing personal was handed out to this student; graded by the common variant." + owners
            return replace(self.common, notes=(Note("common-variant", text),))
        sitting = self._of_variant[self._digests[student_id]]
        notes: tuple[Note, ...] = ()
        # Only a remark: labels are in the notebook, which students can edit or exchange.
        if written - {student_release.variant.label}:
            text = "The notebook does not say that it is this student's." + self._describe_owners(written)
            notes = (Note("other-notebook", text),)
        return replace(
            sitting, assignment=self._common.with_notebooks(sitting.assignment, student_release), notes=notes
        )

    def _describe_owners(self, labels: set[str]) -> str:
        names = [student for student, label in self._labels.items() if label in labels]
        return f" It says that it is that of {', '.join(names[:5])}." if names else ""
