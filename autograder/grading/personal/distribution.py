"""Writes each student's notebooks and keeps a signed record of the variant each student got."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from autograder.core import atomic
from autograder.core.errors import CourseError
from autograder.core.paths import list_files_at
from autograder.core.records import StudentGroup
from autograder.course import Course, groups, manifest, schedule
from autograder.course.manifest import Manifest, StudentRelease
from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment
from autograder.grading.personal.variant_set import make_variants
from autograder.notebook.student_check import FILE_NAME
from autograder.rubric.timestamps import Window
from autograder.rubric.variants.drawing import Variant, normalise_id
from autograder.sandbox.pool import Pool

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
    draw_ids = _choose_draw_ids(students, groups.load_groups(course, name), kept)
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
    students: Sequence[str], teams: Collection[StudentGroup], before: Manifest | None
) -> dict[str, str]:
    """Return, for each student, the id that the variant is drawn for: a group shares its first member's.

    Students who already have a variant keep it; members without one get the first variant of their group.
    """
    leaders: dict[str, str] = {}
    for team in teams:
        member_releases = [
            (member, before.get_release(member) if before else None) for member in team.members
        ]
        earlier_ids = [
            release.drawn_for or member for member, release in member_releases if release is not None
        ]
        leaders |= {normalise_id(member): (earlier_ids or [team.members[0]])[0] for member in team.members}
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
