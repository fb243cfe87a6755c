"""Released assignments: imported from a course folder, and written to a folder again.

A worker can reach only the database. It writes a version into a temporary folder and loads it from there as
the command line does.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec
from django.db import transaction
from django.db.models import Max, Q

from autograder import rubric as rubrics
from autograder.core import atomic
from autograder.core.errors import CourseError, ServiceError
from autograder.core.wording import format_size
from autograder.course import PRIVATE, Course, group_list, schedule
from autograder.messages import build_localised_text
from autograder.rubric import Rubric
from autograder.service import blobs
from autograder.service.models import CourseRecord, Offer, Version, VersionFile
from autograder.service.store import DatabaseStore

MOST_BYTES = 512 << 20
"""Maximum size of a version's files; a content with several names counts once."""
_SMALL, _AT_ONCE = 1 << 20, 16
"""Files up to this size are fetched in batches of this number; larger ones in parts."""


def import_version(record: CourseRecord, course: Course, name: str) -> Version:
    """Import a released assignment. The same files again are the same version.

    Raises:
        CourseError: a file cannot be read, or the files are too large together.
        RubricError: the rubric is not valid.
        ServiceError: the course in the database has another secret.
    """
    if course.load_secret() != bytes(record.secret):
        facts = {"folder": course.root, "course": repr(record.slug)}
        raise ServiceError(build_localised_text("fault.version-secret", **facts))
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    if not course.locate_release(name).is_dir():
        facts = {"folder": course.locate_release(name), "assignment": name}
        raise CourseError(build_localised_text("fault.version-unreleased", **facts))
    listing: dict[str, str] = {}
    path_by_digest: dict[str, Path] = {}
    digest_by_inode: dict[tuple[int, int], str] = {}
    total = 0
    for path in _iterate_files(course, name):
        status = path.stat()
        identity = (status.st_dev, status.st_ino)  # students' releases are hard links to the same data
        if identity not in digest_by_inode:
            digest_by_inode[identity] = hashlib.sha256(_read_content(path)).hexdigest()
        digest = listing[path.relative_to(course.root).as_posix()] = digest_by_inode[identity]
        total += 0 if digest in path_by_digest else status.st_size
        path_by_digest.setdefault(digest, path)
        if total > MOST_BYTES:
            facts = {"assignment": name, "most": format_size(MOST_BYTES)}
            raise CourseError(build_localised_text("fault.version-large", **facts))
    return _find_or_create(record, name, listing, map(_read_content, path_by_digest.values()), rubric.version)


def _find_or_create(
    record: CourseRecord, name: str, listing: Mapping[str, str], new: Iterable[bytes], rubric_version: int
) -> Version:
    """Return the version with these files, digest by path; create it with the next number if it is new.

    Raises:
        CourseError: a new file cannot be read, or differs from the listing.
    """
    digest = hashlib.sha256(json.dumps(listing, sort_keys=True).encode()).hexdigest()
    with transaction.atomic():
        CourseRecord.objects.select_for_update().get(pk=record.pk)
        versions = Version.objects.filter(course=record, assignment=name)
        if existing := versions.filter(digest=digest).first():
            return existing
        number = (versions.aggregate(last=Max("number"))["last"] or 0) + 1
        version = Version.objects.create(
            course=record, assignment=name, number=number, digest=digest, rubric_version=rubric_version
        )
        # The files were hashed before the lock; read again here, they may have changed in between.
        if not set(blobs.store_blobs(new)) <= set(listing.values()):
            raise CourseError(build_localised_text("fault.version-changed", assignment=name))
        VersionFile.objects.bulk_create(
            VersionFile(version=version, path=path, blob_id=blob_digest)
            for path, blob_digest in listing.items()
        )
    return version


def has_same_grading(first: Version, second: Version) -> bool:
    """Decide whether two versions of an assignment have the same rubric and the same reference."""
    reference = f"{Course(Path()).reference.as_posix()}/"
    wanted = Q(path=_build_rubric_path(first)) | Q(path__startswith=reference)
    before, after = (
        set(each.files.filter(wanted).values_list("path", "blob_id")) for each in (first, second)
    )
    return before == after


def prepare_cell_rows(version: Version) -> None:
    """Create a row for each graded cell of a version, and remove all others.

    Raises:
        GradebookError: an obsolete cell has a person's mark, or a notebook lacks a cell.
    """
    rubric = load_rubric(version)
    release = _list_files_below(version, f"release/{version.assignment}/")
    names = [f"{notebook.name}.ipynb" for notebook in rubric.assignment.notebooks]
    contents = blobs.load_blobs([release[name] for name in names if name in release])
    releases = {name.removesuffix(".ipynb"): contents[release[name]] for name in names if name in release}
    DatabaseStore(version.course).prepare_assignment(rubric, releases)


def load_rubric_file(version: Version) -> tuple[str, bytes]:
    """Return a version's rubric: its path in a course folder, and its bytes.

    Raises:
        ServiceError: the version has none.
    """
    path = _build_rubric_path(version)
    row = version.files.filter(path=path).first()
    if row is None:
        facts = {"number": version.number, "assignment": repr(version.assignment), "file": path}
        raise ServiceError(build_localised_text("fault.version-lacks", **facts))
    return path, blobs.load_blobs([row.blob_id])[row.blob_id]


def _build_rubric_path(version: Version) -> str:
    return f"{Course(Path()).rubrics.as_posix()}/{version.assignment}.toml"


def load_rubric(version: Version) -> Rubric:
    """Return a version's rubric, read and validated with the check files that it names.

    Raises:
        RubricError: it is no longer valid for this program version.
        ServiceError: the version has none.
    """
    path, data = load_rubric_file(version)
    reference = Course(Path()).reference
    sources = {
        name: digest
        for name, digest in _list_files_below(version, f"{reference.as_posix()}/").items()
        if name.endswith(".py")
    }
    # A rubric loads its check files from disk.
    with tempfile.TemporaryDirectory() as folder:
        for digest, source in blobs.load_blobs(set(sources.values())).items():
            for name in (name for name in sources if sources[name] == digest):
                atomic.write_bytes(_make_path(version, Path(folder), name), source)
        return rubrics.parse_rubric(data, path, Path(folder))


def _iterate_files(course: Course, name: str) -> Iterator[Path]:
    """Yield all files of an assignment; symbolic links are skipped."""
    folders = [
        course.locate_source(name),
        course.reference,
        course.locate_release(name),
        course.locate_variants(name),
        *(course.root / "personal").glob(f"*/{name}"),
    ]
    yield course.locate_rubric(name)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if "__pycache__" in path.parts or atomic.PARTIAL.fullmatch(path.name):
                continue
            if path.is_file() and not path.is_symlink():
                yield path


def _read_content(path: Path) -> bytes:
    """Return the bytes of a course file.

    Raises:
        CourseError: it cannot be read.
    """
    try:
        return atomic.read_bytes(path, most=MOST_BYTES)
    except OSError as error:
        facts = {"file": path, "error": error.strerror}
        raise CourseError(build_localised_text("fault.version-unreadable", **facts)) from error


def create_or_update_offer(
    record: CourseRecord, course: Course, name: str, version: Version | None = None
) -> Offer:
    """Offer a folder's assignment or its new version, with a row for each graded cell.

    Times come from exams.toml if the offer is new; for groups see `import_groups`. Submissions keep the
    version that they were graded by until they are graded again (`attempts.grade_again`).

    Args:
        record: the course in the database.
        course: its folder.
        name: of the assignment.
        version: the imported version; default: it is imported here.

    Raises:
        As `import_version`.
        GradebookError: an obsolete cell has a person's mark.
    """
    version = version or import_version(record, course, name)
    rubric = rubrics.load_rubric(course.locate_rubric(name))
    schedule.load_schedule(course, rubric)  # report impossible times here, not at the first submission
    times = msgspec.to_builtins(schedule.read_table(course, name) or {})
    title = next(iter(rubric.assignment.title.values()), name)
    with transaction.atomic():
        prepare_cell_rows(version)
        offer_row, _ = Offer.objects.select_for_update().get_or_create(
            course=record, assignment=name, defaults={"version": version, "title": title, "times": times}
        )
        if offer_row.version_id != version.pk:
            offer_row.version = version
            offer_row.save(update_fields=["version"])
        import_groups(offer_row, course)
    return offer_row


def import_groups(offer: Offer, course: Course) -> None:
    """Set the groups from groups.csv, unless staff have formed groups in the service.

    Raises:
        CourseError: the file is not usable.
    """
    groups = {group.name: list(group.members) for group in group_list.load_groups(course, offer.assignment)}
    if not offer.formed_here and offer.groups != groups:
        offer.groups = groups
        offer.save(update_fields=["groups"])


def lay_out(version: Version, folder: Path) -> Course:
    """Write a version's files into an empty folder, with the course's secret.

    Raises:
        ServiceError: one of its paths leads outside of the folder.
    """
    places: dict[str, list[Path]] = {}
    for path, digest in version.files.values_list("path", "blob_id"):
        places.setdefault(digest, []).append(_make_path(version, folder, path))
    small = [digest for digest, size in blobs.load_sizes(places).items() if size <= _SMALL]
    for start in range(0, len(small), _AT_ONCE):
        for digest, data in blobs.load_blobs(small[start : start + _AT_ONCE]).items():
            atomic.write_bytes(places[digest][0], data)
    for digest, (first, *copies) in places.items():
        if digest not in small:
            atomic.write_bytes(first, blobs.iterate_parts(digest))
        for copy in copies:
            # Files with the same content share one copy on disk.
            atomic.link_file(first, copy)
    for name in ("assignments", "rubrics"):
        (folder / name).mkdir(exist_ok=True)
    write_secret(version.course, folder)
    return Course.from_folder(folder)


def write_secret(record: CourseRecord, folder: Path) -> None:
    """Write a course's secret where only the grader may read it."""
    private = folder / PRIVATE
    private.mkdir(mode=0o700, exist_ok=True)
    atomic.write_bytes(private / "secret", bytes(record.secret), mode=0o600)


def _make_path(version: Version, folder: Path, path: str) -> Path:
    """Return the path of a version's file below a folder; create the parent folders.

    Raises:
        ServiceError: it leads outside of the folder.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        facts = {"number": version.pk, "file": repr(path)}
        raise ServiceError(build_localised_text("fault.version-outside", **facts))
    (folder / pure).parent.mkdir(parents=True, exist_ok=True)
    return folder / pure


def load_released_files(
    version: Version, student: str, names: Collection[str] | None = None
) -> Mapping[str, bytes]:
    """Return a student's files, or some of them: personal ones if there are variants, else the common ones.

    A file that is requested by name and has no personal version is the common one.
    """
    files = load_digests(version, student)
    if names is not None:
        files = {name: files[name] for name in names if name in files}
        if missing := set(names) - files.keys():
            common = _list_files_below(version, f"release/{version.assignment}/")
            files |= {name: common[name] for name in sorted(missing & common.keys())}
    contents = blobs.load_blobs(files.values())
    return {name: contents[digest] for name, digest in files.items()}


def load_digests(version: Version, student: str) -> dict[str, str]:
    """Return the SHA-256 of each of a student's files, by name."""
    personal = _list_files_below(version, f"personal/{student}/{version.assignment}/")
    return personal or _list_files_below(version, f"release/{version.assignment}/")


def _list_files_below(version: Version, folder: str) -> dict[str, str]:
    files = version.files.filter(path__startswith=folder).values_list("path", "blob_id")
    return {path.removeprefix(folder): digest for path, digest in files.order_by("path")}
