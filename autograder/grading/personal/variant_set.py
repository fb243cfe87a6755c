"""Draws a class's variants: values, faults, questions and notebooks.

All values that the reference computes are requested from one box, whatever the size of the class.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.core.errors import CourseError, RubricError
from autograder.core.records import Call, Limits
from autograder.grading.assignment import Assignment
from autograder.grading.expected import ReferenceObject, ask_reference, scale_limits
from autograder.grading.generate import build_release_files, read_answer_key
from autograder.notebook.fill import Listing, label_release
from autograder.notebook.release import load_release
from autograder.notebook.student_check import FILE_NAME, extract_specification, read_language
from autograder.rubric.variants.drawing import Catalogues, Fault, Variant, draw_variant
from autograder.rubric.variants.expressions import Value
from autograder.rubric.variants.options import ComputedValue, Draws
from autograder.sandbox.base import Box
from autograder.sandbox.pool import Pool

_NAME = "asked"


class Reference:
    """A box that runs the reference and computes values for variants.

    Every method raises:
        CourseError: a function is missing, raises, or returns an unexpected kind of value; the message names
            it.
    """

    def __init__(self, box: Box, limits: Limits) -> None:
        self._box = box
        self._limits = limits

    def compute_values(
        self, reference: str, arguments: Sequence[tuple[Value, ...]]
    ) -> dict[tuple[Value, ...], Value]:
        """Return the value of a reference function for each argument tuple."""
        values = dict(zip(arguments, self._collect_answers(reference, arguments), strict=True))
        for call, value in values.items():
            # bool is a subclass of int, but a drawn value must be a number or a text.
            if not isinstance(value, int | str) or isinstance(value, bool):
                raise CourseError(
                    f"reference {reference}: expected a whole number or a text for {call}, got {value!r:.80}"
                )
        return values

    def _collect_answers(self, reference: str, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        plan = [Call(_NAME, args=args) for args in calls]
        named = ReferenceObject("[variant]", reference, _NAME)
        observed = ask_reference(self._box, named, plan, self._limits)
        return [observation.value for observation in observed]


@contextmanager
def open_reference(assignment: Assignment, pool: Pool, variants: int) -> Iterator[Reference]:
    """Open a box of the reference with limits for this number of variants.

    Raises:
        RubricError: a module that the rubric preloads is not installed.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    limits = scale_limits(assignment.rubric.assignment.limits, variants)
    with assignment.report_missing_preloads():
        box = pool.create_persistent(assignment.build_reference_environment()).open(limits)
    try:
        yield Reference(box, limits)
    finally:
        box.close()


class VariantSet(Struct, frozen=True, eq=False):
    """The variants of a class, and the data needed to build their notebooks."""

    common: Assignment
    catalogues: dict[str, tuple[Fault, ...]]
    variants: dict[str, Variant]
    """Variants by student."""

    def build_assignment(self, variant: Variant, student: str = "") -> Assignment:
        """Return the assignment of one variant, with personal notebooks.

        Args:
            variant: one of the drawn variants.
            student: the student for whom the notebooks show an individual deadline, if the course sets one;
                empty: the common deadline.

        Raises:
            RubricError: a question is not valid with this variant's values, or the student's check file would
                have to differ from the common one.
            NotebookError: a cell lacks required content.
        """
        personal = self.common.with_variant(variant, self.catalogues)
        shared = self.common.course.locate_release(self.common.name) / FILE_NAME
        language = read_language(shared) or ""
        files = build_release_files(
            self.common.course, personal.rubric, language, self.collect_listings(variant), student
        )
        # The check file is the same for everyone: it must not reveal the variant.
        check, shared_check = files.pop(FILE_NAME).decode(), shared.read_text(encoding="utf-8")
        if extract_specification(check) != extract_specification(shared_check):
            raise RubricError(
                f"variant {variant.label}: {FILE_NAME} would differ from that of the others: names, symbols "
                "and forms of answers cannot be drawn"
            )
        contents = {
            notebook.name: label_release(files[f"{notebook.name}.ipynb"], variant.label)
            for notebook in personal.rubric.assignment.notebooks
        }
        releases = {name: load_release(data, name) for name, data in contents.items()}
        return replace(personal, releases=releases, release_bytes=contents, manifest=None)

    def build_answer_key(self, variant: Variant) -> dict[str, bytes]:
        """Return the answer key of a variant: its source notebooks, solutions included."""
        personal = self.common.with_variant(variant, self.catalogues)
        return read_answer_key(self.common.course, personal.rubric, self.collect_listings(variant))

    def collect_listings(self, variant: Variant) -> dict[str, Listing]:
        """Return the common and the personal code listing of each repair question, by question id."""
        draws = self.common.rubric.draws
        common = self.common.rubric.variant.faults
        return {
            planted.faults: Listing(
                self._format_listing(planted.faults, common[name]),
                self._format_listing(planted.faults, variant.faults[name]),
            )
            for name, planted in (draws.planted if draws else {}).items()
        }

    def _format_listing(self, question: str, faults: Sequence[str]) -> str:
        return self.common.rubric.checks[question].make_listing(faults).strip("\n")


def make_variants(
    common: Assignment, students: Sequence[str], pool: Pool, catalogues: Catalogues | None = None
) -> VariantSet:
    """Draw the variants of these students and compute all values they need in one run of the reference.

    Args:
        common: the loaded assignment.
        students: their ids.
        pool: provides the sandbox of the reference; used only if values are computed.
        catalogues: fault catalogues that earlier variants were drawn from; default: the current faults of the
            checks.

    Raises:
        RubricError: the rubric draws no values; no draw satisfies the conditions; or the common variant could
            not be the result of a draw.
        CourseError: the reference returns an unexpected value.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    draws = common.rubric.draws
    if draws is None:
        raise RubricError(f"{common.name}: the rubric has no table [variant], so nothing is drawn")
    fault_catalogues = {
        planted.faults: tuple((catalogues or {}).get(planted.faults) or _list_faults(common, planted.faults))
        for planted in draws.planted.values()
    }
    if not draws.computed:
        return _draw_variants(common, students, draws, None, fault_catalogues)
    # One more than the students, for the common variant.
    with open_reference(common, pool, len(students) + 1) as reference:
        return _draw_variants(common, students, draws, reference, fault_catalogues)


def _list_faults(common: Assignment, question: str) -> tuple[Fault, ...]:
    """Return the faults that the checks of a question plant.

    Raises:
        RubricError: they plant none.
    """
    file = common.rubric.checks.get(question)
    if file is None or not file.faults:
        raise RubricError(f"[variant]: question {question!r} is not of kind repair: no faults can be drawn")
    return tuple(Fault(fault.id, fault.title) for fault in file.faults)


def _draw_variants(
    common: Assignment,
    students: Sequence[str],
    draws: Draws,
    reference: Reference | None,
    catalogues: dict[str, tuple[Fault, ...]],
) -> VariantSet:
    _check_common(common, draws, catalogues)
    secret, counts = common.course.load_secret(), common.rubric.planted
    variants = {
        student: draw_variant(secret, common.name, student, draws, catalogues=catalogues, counts=counts)
        for student in students
    }
    if reference is None:
        return VariantSet(common, catalogues, variants)
    # The common variant is computed too, to verify the value that the rubric states for it.
    every = [common.rubric.variant, *variants.values()]
    for name, computed in draws.computed.items():
        values = _compute_values(reference, computed, every)
        reference_common = values[_collect_arguments(computed, common.rubric.variant)]
        if reference_common != computed.common:
            raise RubricError(
                f"[variant.draw.{name}]: common: expected {reference_common!r}, as {computed.reference} "
                f"gives it, got {computed.common!r}"
            )
        variants = {
            student: replace(
                variant, values={**variant.values, name: values[_collect_arguments(computed, variant)]}
            )
            for student, variant in variants.items()
        }
    return VariantSet(common, catalogues, variants)


def _compute_values(
    reference: Reference, computed: ComputedValue, every: Sequence[Variant]
) -> Mapping[tuple[Value, ...], Value]:
    # Many students draw the same arguments; each combination is computed once.
    wanted = list(dict.fromkeys(_collect_arguments(computed, variant) for variant in every))
    return reference.compute_values(computed.reference, wanted)


def _collect_arguments(computed: ComputedValue, variant: Variant) -> tuple[Value, ...]:
    return tuple(variant.values[argument] for argument in computed.arguments)


def _check_common(common: Assignment, draws: Draws, catalogues: Catalogues) -> None:
    """Refuse a common variant that could not be the result of a draw."""
    for name, planted in draws.planted.items():
        fault_ids = [fault.id for fault in catalogues[planted.faults]]
        unknown = [fault for fault in common.rubric.variant.faults[name] if fault not in fault_ids]
        if unknown:
            raise RubricError(
                f"[variant.draw.{name}]: question {planted.faults!r}: {', '.join(unknown)} is no fault; "
                f"known are: {', '.join(fault_ids)}"
            )
