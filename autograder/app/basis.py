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

from autograder import atomic
from autograder import rubric as rubrics
from autograder.assignment import Assignment
from autograder.course import Course
from autograder.errors import CourseError, RubricError
from autograder.grading_version import GRADING_VERSION
from autograder.paths import files_in
from autograder.rubric import Rubric
from autograder.rubric.dependence import dependents
from autograder.sandbox.levels import Isolation, environment_digest

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
    grading_version: int = 0
    """`GRADING_VERSION`; 0 if the basis was kept before that constant existed."""


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
        _keep(assignment, isolation, _folder(assignment.course))
    except OSError as error:
        raise CourseError(f"{error.filename}: cannot be read or written: {error.strerror}") from error


def _keep(assignment: Assignment, isolation: Isolation, folder: Path) -> None:
    course = assignment.course
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    rubric = folder / f"{assignment.rubric.digest}.toml"
    # Files are named by digest, so that an existing file has the same content.
    if not rubric.is_file():
        data = atomic.read(course.rubric(assignment.name))
        if hashlib.sha256(data).hexdigest() == assignment.rubric.digest:  # saved again meanwhile?
            atomic.write(rubric, data, mode=0o600)
    path = folder / f"{environment_digest(assignment.digest(), isolation)}.json"
    if not path.is_file():
        atomic.write(path, msgspec.json.encode(basis_of(assignment, isolation)), mode=0o600)


def kept_rubric(course: Course, digest: str) -> tuple[bytes, Rubric] | None:
    """Return a rubric that the course was graded with, combined with the current checks.

    None if it was not kept, or can no longer be read.
    """
    try:
        data = atomic.read(_folder(course) / f"{digest}.toml")
        return data, rubrics.parse(data, "the rubric before", course.reference)
    except (OSError, RubricError):
        return None


def kept_basis(course: Course, environment: str) -> GradingBasis | None:
    """Return an environment that the course was graded in; None if it was not kept."""
    try:
        data = atomic.read(_folder(course) / f"{environment}.json")
        return msgspec.json.decode(data, type=GradingBasis)
    except (OSError, msgspec.MsgspecError):
        return None


def basis_differences(
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
        was_graded = before.grading_version or "earlier"
        yield BasisDifference(f"grading version: {was_graded} → {after.grading_version}")
    was, now = set(before.libraries), set(after.libraries)
    if was != now:
        gone = ", ".join(one for one in before.libraries if one not in now)
        new = ", ".join(one for one in after.libraries if one not in was)
        yield BasisDifference(f"libraries: {gone or 'none'} → {new or 'none'}")
    if names := _differing(before.reference, after.reference):
        asked = frozenset(
            question.id for question in rubric.questions if question.reference or question.id in rubric.checks
        )
        yield BasisDifference(f"reference changed: {names}", asked)
    if names := _differing(before.release, after.release):
        yield BasisDifference(f"release changed: {names}")
    if before.variants != after.variants:
        yield BasisDifference("what was handed out to students changed")
    if before.isolation != after.isolation:
        yield BasisDifference(f"isolation: {before.isolation} → {after.isolation}")


def rubric_differences(before: bytes, after: bytes) -> Iterator[BasisDifference]:
    """Yield the differences between two files of a rubric, by question and item.

    Raises:
        RubricError: one of them is not TOML.
    """
    old, new = rubrics.read_tables(before, "before"), rubrics.read_tables(after, "after")
    for part in ("assignment", "variant"):
        if keys := _keys(old.get(part, {}), new.get(part, {})):
            yield BasisDifference(f"rubric, [{part}]: {keys} changed")
    # Questions and items are matched by id, so that a change of order is no difference.
    was = {table["id"]: table for table in old["question"]}
    now = {table["id"]: table for table in new["question"]}
    for name in (*now, *(name for name in was if name not in now)):
        if was.get(name) == now.get(name):
            continue
        # A changed question can also move questions with results that depend on it.
        moved = frozenset(dependents({name}, {**was, **now}))
        if name not in was or name not in now:
            what = "is new" if name in now else "is gone"
            yield BasisDifference(f"rubric: question {name} {what}", moved)
            continue
        for sentence in _question_changes(was[name], now[name]):
            yield BasisDifference(f"rubric, {name}{sentence}", moved)


def _question_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if keys := _keys(_without(old, "item"), _without(new, "item")):
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
        if keys := _keys(_without(was[name], "points"), _without(now[name], "points")):
            yield f".{name}: {keys} changed"


def _without(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return {key: value for key, value in table.items() if key != name}


def _keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    return ", ".join(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _folder(course: Course) -> Path:
    return course.private / "graded-by"


def basis_of(assignment: Assignment, isolation: Isolation) -> GradingBasis:
    """Return the current grading basis of a class."""
    course, rubric = assignment.course, assignment.rubric
    release = {f"{name}.ipynb": _digest(data) for name, data in assignment.release_bytes.items()}
    for notebook in rubric.assignment.notebooks:
        given = files_in(course.release(rubric.assignment.name), notebook.given)
        release |= {name: _digest_of(path) for name, path in given}
    reference = {
        path.relative_to(course.reference).as_posix(): _digest_of(path)
        for path in sorted(course.reference.rglob("*.py"))
        if path.is_file()
    }
    return GradingBasis(
        tuple(assignment.versions()),
        reference,
        release,
        assignment.manifest.digest() if assignment.manifest else "",
        isolation.value,
        GRADING_VERSION,
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _digest_of(path: Path) -> str:
    # Data files may be large: file_digest reads them in chunks.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
