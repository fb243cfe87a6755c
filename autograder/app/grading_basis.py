"""Grading basis: everything that results depend on, except submissions, kept by digest and compared.

Results contain only digests. To explain later why a mark differs, each rubric and each environment that a
class was graded with is kept in the private folder of the course.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import CourseError, RubricError
from autograder.core.paths import list_files_at
from autograder.course import Course
from autograder.grading.assignment import Assignment, hash_file
from autograder.grading.version import GRADING_VERSION
from autograder.rubric import Rubric
from autograder.rubric.dependencies import find_dependents
from autograder.sandbox.levels import Isolation, compute_environment_digest

_MOST_NAMED = 6


class GradingBasis(Struct, frozen=True):
    """An environment, split into parts that can be reported."""

    libraries: tuple[str, ...]
    """The interpreter, the machine type and packages, each with its version."""
    reference: Mapping[str, str]
    """Digest by file of the reference."""
    release: Mapping[str, str]
    """Digest by file of the release."""
    variants: str
    isolation: str
    grading_version: int
    """`GRADING_VERSION`."""


class BasisDifference(Struct, frozen=True):
    """One difference between two grading bases."""

    text: str
    """A sentence for staff, without the full stop."""
    questions: frozenset[str] | None = None
    """Questions that can be affected; None: any."""


def keep_basis(assignment: Assignment, isolation: Isolation) -> None:
    """Keep the current rubric and environment. Existing copies stay.

    Raises:
        CourseError: a file of the release cannot be read, or the private folder cannot be written.
    """
    try:
        _write_basis(assignment, isolation, _get_folder(assignment.course))
    except OSError as error:
        raise CourseError(f"{error.filename}: cannot be read or written: {error.strerror}") from error


def _write_basis(assignment: Assignment, isolation: Isolation, folder: Path) -> None:
    course = assignment.course
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rubric = folder / f"{assignment.rubric.digest}.toml"
    # Files are named by digest, so that an existing file has the same content.
    if not rubric.is_file():
        data = atomic.read_bytes(course.locate_rubric(assignment.name))
        if hashlib.sha256(data).hexdigest() == assignment.rubric.digest:  # saved again meanwhile?
            atomic.write_bytes(rubric, data, mode=0o600)
    path = folder / f"{compute_environment_digest(assignment.compute_digest(), isolation)}.json"
    if not path.is_file():
        atomic.write_bytes(path, msgspec.json.encode(build_basis(assignment, isolation)), mode=0o600)


def read_kept_rubric(course: Course, digest: str) -> tuple[bytes, Rubric] | None:
    """Return a rubric that the course was graded with, combined with the current checks.

    None if it was not kept, or can no longer be read.
    """
    try:
        data = atomic.read_bytes(_get_folder(course) / f"{digest}.toml")
        return data, rubrics.parse_rubric(data, "the rubric before", course.reference)
    except (OSError, RubricError):
        return None


def read_kept_basis(course: Course, environment: str) -> GradingBasis | None:
    """Return an environment that the course was graded in; None if it was not kept."""
    try:
        data = atomic.read_bytes(_get_folder(course) / f"{environment}.json")
        return msgspec.json.decode(data, type=GradingBasis)
    except (OSError, msgspec.MsgspecError):
        return None


def compare_bases(
    before: GradingBasis | None, after: GradingBasis | None, rubric: Rubric
) -> Iterator[BasisDifference]:
    """Yield the differences between two environments.

    Args:
        before: of the current result; None: not recorded.
        after: of the other one.
        rubric: determines the questions that depend on the reference.
    """
    if before is None or after is None:
        yield BasisDifference("what the class was graded with before was not kept")
        return
    if before.grading_version != after.grading_version:
        yield BasisDifference(f"grading version: {before.grading_version} → {after.grading_version}")
    was, now = set(before.libraries), set(after.libraries)
    if was != now:
        gone = ", ".join(library for library in before.libraries if library not in now)
        new = ", ".join(library for library in after.libraries if library not in was)
        yield BasisDifference(f"libraries: {gone or 'none'} → {new or 'none'}")
    if names := _list_changed_files(before.reference, after.reference):
        dependent_questions = frozenset(
            question.id for question in rubric.questions if question.reference or question.id in rubric.checks
        )
        yield BasisDifference(f"reference changed: {names}", dependent_questions)
    if names := _list_changed_files(before.release, after.release):
        yield BasisDifference(f"release changed: {names}")
    if before.variants != after.variants:
        yield BasisDifference("what was handed out to students changed")
    if before.isolation != after.isolation:
        yield BasisDifference(f"isolation: {before.isolation} → {after.isolation}")


def compare_rubrics(before: bytes, after: bytes) -> Iterator[BasisDifference]:
    """Yield the differences between two files of a rubric, by question and item.

    Raises:
        RubricError: one of them is not TOML.
    """
    old, new = rubrics.read_tables(before, "before"), rubrics.read_tables(after, "after")
    for part in ("assignment", "variant"):
        if keys := _list_changed_keys(old.get(part, {}), new.get(part, {})):
            yield BasisDifference(f"rubric, [{part}]: {keys} changed")
    # Questions and items are matched by id, so that a change of order is no difference.
    was = {table["id"]: table for table in old["question"]}
    now = {table["id"]: table for table in new["question"]}
    for name in (*now, *(name for name in was if name not in now)):
        if was.get(name) == now.get(name):
            continue
        # A changed question can also move questions with results that depend on it.
        moved = frozenset(find_dependents({name}, {**was, **now}))
        if name not in was or name not in now:
            change = "is new" if name in now else "is gone"
            yield BasisDifference(f"rubric: question {name} {change}", moved)
            continue
        for sentence in _compare_questions(was[name], now[name]):
            yield BasisDifference(f"rubric, {name}{sentence}", moved)


def _compare_questions(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if keys := _list_changed_keys(_drop_key(old, "item"), _drop_key(new, "item")):
        yield f": {keys} changed"
    was = {item["id"]: item for item in old["item"]}
    now = {item["id"]: item for item in new["item"]}
    for name in (*now, *(name for name in was if name not in now)):
        if name not in was or name not in now:
            yield f".{name}: {'is new' if name in now else 'is gone'}"
            continue
        before, after = was[name].get("points"), now[name].get("points")
        if before != after:
            yield f".{name}: points {before} → {after}"
        if keys := _list_changed_keys(_drop_key(was[name], "points"), _drop_key(now[name], "points")):
            yield f".{name}: {keys} changed"


def _drop_key(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return {key: value for key, value in table.items() if key != name}


def _list_changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    return ", ".join(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))


def _list_changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _get_folder(course: Course) -> Path:
    return course.private / "graded-by"


def build_basis(assignment: Assignment, isolation: Isolation) -> GradingBasis:
    """Return the current grading basis of a class."""
    course, rubric = assignment.course, assignment.rubric
    release = {
        f"{name}.ipynb": hashlib.sha256(data).hexdigest() for name, data in assignment.release_bytes.items()
    }
    for notebook in rubric.assignment.notebooks:
        distributed = list_files_at(course.locate_release(rubric.assignment.name), notebook.given)
        release |= {name: hash_file(path) for name, path in distributed}
    reference = {
        path.relative_to(course.reference).as_posix(): hash_file(path)
        for path in sorted(course.reference.rglob("*.py"))
        if path.is_file()
    }
    return GradingBasis(
        tuple(assignment.list_versions()),
        reference,
        release,
        assignment.manifest.compute_digest() if assignment.manifest else "",
        isolation.value,
        GRADING_VERSION,
    )
