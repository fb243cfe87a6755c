"""Personal variants: draws each student's values and faults, and writes and records their notebooks.

All values that the reference computes are requested from one box, whatever the size of the class.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from autograder.core import atomic
from autograder.core.errors import CourseError, RubricError
from autograder.core.paths import list_files_at
from autograder.core.records import Call, Limits, StudentGroup
from autograder.course import Course, group_list, manifest, schedule
from autograder.course.manifest import Manifest, StudentRelease
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.expected_values import ReferenceObject, ask_reference, scale_limits
from autograder.grading.release_generation import build_release_files, read_answer_key
from autograder.notebook.release import load_release
from autograder.notebook.student_check import FILE_NAME, extract_specification, read_language
from autograder.notebook.variant_source import Listing, label_release
from autograder.rubric.timestamps import Window
from autograder.rubric.variants.draws import Catalogues, Fault, Variant, draw_variant, normalise_id
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


_MOST_NAMED = 5


class DistributionSummary(Struct, frozen=True):
    """Summary of the files that were written."""

    folders: tuple[Path, ...]
    """One folder per student."""
    variants: int
    """Number of different releases among them."""


def write_personal_releases(
    course: Course,
    name: str,
    students: Sequence[str],
    pool: Pool,
    *,
    replace: bool = False,
) -> DistributionSummary:
    """Write personal/<student>/<name>/ for each student, next to a release that was generated before.

    All notebooks are built before the first file is written. Students who already have a variant keep it.

    Args:
        course: the course of the assignment.
        name: the assignment.
        students: the ids on the class list.
        pool: provides the sandbox of the reference.
        replace: give new variants to students if the variant drawn for them has changed since theirs was
            written.

    Raises:
        CourseError: the release or the reference is not usable, or a variant that was already given out would
            change.
        RubricError: the rubric draws no values, or a variant makes an invalid question.
        NotebookError: a source notebook lacks required content.
        SandboxUnavailable: code cannot be confined on this machine.
    """
    _check_ids(students)
    common = assignments.load_assignment(course, name)
    before = common.manifest
    kept = before if before is not None and not replace else None
    draw_ids = _choose_draw_ids(students, group_list.load_groups(course, name), kept)
    variant_set = make_variants(
        common, [*dict.fromkeys(draw_ids.values())], pool, kept.catalogues if kept else None
    )
    variants = {student: variant_set.variants[draw_ids[student]] for student in students}
    if kept is not None:
        _check_unchanged(variants, kept)
    times = schedule.load_schedule(course, common.rubric)
    if times:
        times.check_students(students)
    built: dict[tuple[str, Window | None], Assignment] = {}
    releases: dict[str, StudentRelease] = {}
    notebooks: dict[str, bytes] = {}
    for student, variant in variants.items():
        # Students with the same variant and the same individual deadline share one built release.
        kind = (variant.digest, times.get_personal_window(student) if times else None)
        if kind not in built:
            built[kind] = variant_set.build_assignment(variant, student)
        contents = built[kind].release_bytes
        digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
        notebooks |= {digests[name]: data for name, data in contents.items()}
        drawn_for = draw_ids[student] if draw_ids[student] != student else ""
        releases[normalise_id(student)] = StudentRelease(variant, digests, drawn_for)
    # Students of earlier runs stay in the record, even if they are not on the list this time.
    record = Manifest(name, variant_set.catalogues, {**(before.students if before else {}), **releases})
    # Stored before the folders, so that no student has a notebook that is missing in the record.
    manifest.store_manifest(course.locate_variants(name), record, notebooks, course.load_secret())
    windows = {student: times.get_personal_window(student) if times else None for student in variants}
    folders = tuple(
        _write_folder(built[variant.digest, windows[student]], course.locate_personal(student, name))
        for student, variant in variants.items()
    )
    return DistributionSummary(folders, len({digest for digest, _ in built}))


def _choose_draw_ids(
    students: Sequence[str], groups: Collection[StudentGroup], before: Manifest | None
) -> dict[str, str]:
    """Return, for each student, the id that the variant is drawn for: a group shares its first member's.

    Students who already have a variant keep it; members without one get the first variant of their group.
    """
    leaders: dict[str, str] = {}
    for group in groups:
        member_releases = [
            (member, before.get_release(member) if before else None) for member in group.members
        ]
        earlier_ids = [
            release.drawn_for or member for member, release in member_releases if release is not None
        ]
        leaders |= {normalise_id(member): (earlier_ids or [group.members[0]])[0] for member in group.members}
    draw_ids = {}
    for student in students:
        earlier_release = before.get_release(student) if before else None
        own_id = (earlier_release.drawn_for or student) if earlier_release else ""
        draw_ids[student] = own_id or leaders.get(normalise_id(student), student)
    return draw_ids


def _check_ids(students: Sequence[str]) -> None:
    """Refuse ids that differ only in Unicode normalisation: both would get the same variant."""
    seen: dict[str, str] = {}
    for student in students:
        other = seen.setdefault(normalise_id(student), student)
        if other != student:
            raise CourseError(
                f"the ids {other!a} and {student!a} differ only in how an accent is encoded; rename one"
            )


def _check_unchanged(variants: Mapping[str, Variant], before: Manifest) -> None:
    """Refuse to change notebooks that students may already be working on."""
    changed = [
        student
        for student, variant in variants.items()
        if (release := before.get_release(student)) is not None and release.variant != variant
    ]
    if changed:
        named = ", ".join(changed[:_MOST_NAMED]) + (" …" if len(changed) > _MOST_NAMED else "")
        raise CourseError(
            f"{len(changed)} of {len(variants)} students were handed out other variants than the rubric "
            f"draws now ({named}); put its table [variant] back as it was, or give new ones with --replace"
        )


def _write_folder(assignment: Assignment, folder: Path) -> Path:
    """Write one student's folder: the files of the release, with the student's own notebooks.

    Raises:
        CourseError: a file cannot be written.
    """
    try:
        return _write_files(assignment, folder)
    except OSError as error:
        raise CourseError(f"{folder}: cannot be written: {error.strerror}") from error


def _write_files(assignment: Assignment, folder: Path) -> Path:
    release = assignment.course.locate_release(assignment.name)
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in assignment.rubric.assignment.notebooks:
        atomic.write_bytes(folder / f"{notebook.name}.ipynb", assignment.release_bytes[notebook.name])
        for relative_path, file in list_files_at(release, notebook.given):
            (folder / relative_path).parent.mkdir(parents=True, exist_ok=True)
            # Students edit starter files, so each student gets a separate copy.
            if relative_path in notebook.starter:
                atomic.copy_file(file, folder / relative_path)
            else:  # hard link, because given data may be large and is never modified
                atomic.link_file(file, folder / relative_path)
    atomic.copy_file(release / FILE_NAME, folder / FILE_NAME)
    return folder
