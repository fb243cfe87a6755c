"""Expected values: the reference solution gets the same calls as the students, in a separate sandbox.

All variants of a class share one box, and calls that several variants have in common are made once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import BoxEnded, CourseError, NotebookError
from autograder.core.records import Call, Limits, Note, Observation
from autograder.grading.assignment import Assignment
from autograder.notebook.variant_source import read_label
from autograder.questions.base.base import find_draw_scope
from autograder.rubric import Question
from autograder.rubric.variants.draws import normalise_id
from autograder.sandbox.base import Box
from autograder.sandbox.exchange import values, wire
from autograder.sandbox.pool import Pool
from autograder.sandbox.retry import retry_infrastructure

Expected = Mapping[str, Sequence[Observation]]
"""Question id → the reference's observations, one entry per call of its plan."""

MOST_SECONDS = 604_800
"""Maximum processor time of any box."""
REFERENCE_TIME_FACTOR = 10
"""Time allowed as a multiple of a student's: finds endless loops, but a busy machine does not abort a
class."""
_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_]\w*")


def compute_expected_values(
    assignment: Assignment, pool: Pool, variants: Sequence[Assignment] = ()
) -> tuple[Expected, ...]:
    """Return the expected observations of every question that has a reference.

    Args:
        assignment: the common one.
        pool: provides the reference's sandbox.
        variants: the same assignment with the variants of students.

    Returns:
        The expected observations of the common assignment, then of each variant.

    Raises:
        CourseError: a reference solution is missing, raises, or ends its box.
    """
    plans: dict[str, _ReferencePlan] = {}
    names = [_collect_plans(variant, assignment, plans) for variant in (assignment, *variants)]
    observations = retry_infrastructure(lambda: _ask_all(assignment, plans, pool)) if plans else {}
    return tuple(
        {question: observations[name] for question, name in plan_names.items()} for plan_names in names
    )


def derive_box_seed(secret: bytes, name: str) -> int:
    """Return the seed of every box of an assignment: derived from the secret, the same for all students."""
    return int.from_bytes(hashlib.sha256(secret + b"\0seed\0" + name.encode()).digest()[:4], "little")


class _ReferencePlan(Struct, frozen=True, eq=False):
    """The calls to the reference for one question of one variant, or of several equal ones."""

    question: Question
    calls: tuple[Call, ...]
    content_key: str
    """SHA-256 of the plan, to find equal ones."""


def _collect_plans(
    assignment: Assignment, common: Assignment, plans: dict[str, _ReferencePlan]
) -> dict[str, str]:
    """Add the plans of an assignment that are not in ``plans`` yet.

    Returns:
        The name of each question's plan: the question's own id, if it is the same for all variants.
    """
    names = {}
    for question in assignment.rubric.questions:
        check = assignment.checks[question.id]
        if check is common.checks[question.id] and question.id in plans:
            names[question.id] = question.id
            continue
        calls = check.plan_reference_calls()
        if calls and not question.reference:
            raise CourseError(
                f"question {question.id!r}: a reference is needed; state reference = 'module:name'"
            )
        if calls:
            plan = _ReferencePlan(question, calls, _hash_calls(question, calls))
            # Named by the question alone if equal to the common plan, else also by digest.
            of_all = plan if assignment is common else plans.get(question.id)
            alike = of_all is not None and of_all.content_key == plan.content_key
            names[question.id] = question.id if alike else f"{question.id} {plan.content_key}"
            plans.setdefault(names[question.id], plan)
    return names


def _hash_calls(question: Question, calls: Sequence[Call]) -> str:
    """Return the SHA-256 of all calls to the reference, and of the reference's name."""
    encoder = values.TrustedEncoder()
    # The encoded form covers arrays byte by byte, so equal digests mean equal calls.
    tree = [values.encode_call(call, encoder) for call in calls]
    request = {"reference": question.reference, "answer": question.answer, "asked": tree}
    return hashlib.sha256(b"".join(wire.pack(request, encoder.arrays))).hexdigest()


def scale_limits(limits: Limits, times: int) -> Limits:
    """Return the limits of a box that does the work of several; they bound our faults, not student code."""
    seconds = limits.processor_seconds * max(times, 1)
    return replace(limits, processor_seconds=min(seconds, MOST_SECONDS))


def _ask_all(
    assignment: Assignment, plans: Mapping[str, _ReferencePlan], pool: Pool
) -> dict[str, Sequence[Observation]]:
    environment = assignment.build_reference_environment()
    limits = scale_limits(assignment.rubric.assignment.limits, len(plans))
    box = pool.create_persistent(environment).open(limits)
    try:
        return {
            name: ask_reference(box, get_reference(plan.question), plan.calls, limits)
            for name, plan in plans.items()
        }
    finally:
        box.close()
        # The reference's sandbox is not needed again during the run; end it to free memory.
        pool.end_sandbox(environment)


def ask_once(assignment: Assignment, question: Question, call: Call, pool: Pool, seed: int) -> Observation:
    """Return the reference's result about one submission, in a new box; never cached.

    Raises:
        CourseError: the reference is missing, raises, or ends its box.
        SandboxFault: our infrastructure failed more often than retries allow.
    """
    limits = assignment.rubric.assignment.limits

    def ask_in_box() -> Observation:
        box = pool.create_persistent(assignment.build_reference_environment()).open(limits, seed=seed)
        try:
            return ask_reference(box, get_reference(question), [call], limits)[0]
        finally:
            box.close()

    return retry_infrastructure(ask_in_box)


class ReferenceObject(Struct, frozen=True):
    """An object of the reference folder.

    Attributes:
        where: the name of its source in error messages.
        reference: ``module:name``.
        name: its name in a plan.
    """

    where: str
    reference: str
    name: str

    @property
    def import_line(self) -> str:
        """The statement that imports it, in a box that has the reference folder.

        Raises:
            CourseError: it is no ``module:name``.
        """
        match = _REFERENCE.fullmatch(self.reference)
        if not match or not _NAME.fullmatch(self.name):
            raise CourseError(
                f"{self.where}: expected 'module:name' and a name for it; "
                f"got {self.reference!r} and {self.name!r}"
            )
        return f"from reference.{match[1]} import {match[2]} as {self.name}"


def get_reference(question: Question) -> ReferenceObject:
    """Return the reference solution of a question, under the name that the student assigns."""
    return ReferenceObject(f"question {question.id!r}: reference", question.reference, question.answer)


def import_reference(box: Box, named: ReferenceObject, limits: Limits) -> None:
    """Import an object of the reference folder under a name.

    Args:
        box: of the reference's environment.
        named: the object.
        limits: those of a student's cell.

    Raises:
        CourseError: it is missing, raises, or ends its box.
    """
    source = named.import_line
    subject = f"{named.where}: {named.reference!r}"
    try:
        run = box.run_cell(source, seconds=REFERENCE_TIME_FACTOR * limits.cell_seconds)
    except BoxEnded as ended:
        raise CourseError(f"{subject} ended its box: {ended}") from ended
    if run.error:
        text = next((out.data.get("text/plain", "") for out in run.outputs if out.kind == "error"), run.error)
        # Without a frame of a file, nothing in the reference ran: the name itself is wrong.
        reason = f"\n{text}" if "File " in text else f" {text.strip().splitlines()[-1]}"
        raise CourseError(f"{subject} cannot be imported:{reason}")


def ask_reference(
    box: Box, named: ReferenceObject, plan: Sequence[Call], limits: Limits
) -> Sequence[Observation]:
    """Import an object of the reference folder under a name, and carry out a plan that must not fail.

    Args:
        box: of the reference's environment.
        named: the object.
        plan: the calls.
        limits: those of a student's cell and call.

    Raises:
        CourseError: it is missing, raises, or ends its box.
    """
    import_reference(box, named, limits)
    subject = f"{named.where}: {named.reference!r}"
    observed = box.ask(plan, seconds=REFERENCE_TIME_FACTOR * limits.call_seconds)
    for observation in observed:
        if observation.ending:
            raise CourseError(f"{subject} ended its box: {observation.ending.value}")
        if not observation.ok:
            raise CourseError(f"{subject} failed: {observation.error}: {observation.message}")
    return observed


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
        pool: provides the reference's sandbox, if expected values are not known yet.
        drawn: students with a variant that was not given out, by id; for verifying variants.

    Raises:
        CourseError: a reference solution is not usable.
        SandboxUnavailable: code cannot be confined on this machine.
    """

    def __init__(
        self,
        assignment: Assignment,
        pool: Pool,
        drawn: Mapping[str, Assignment] | None = None,
    ) -> None:
        self._common = assignment
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
