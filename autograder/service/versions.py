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

from autograder import atomic
from autograder import rubric as rubrics
from autograder.course import PRIVATE, Course, groups, schedule
from autograder.errors import CourseError, ServiceError
from autograder.rubric import Rubric
from autograder.service import blobs
from autograder.service.models import CourseRecord, Offer, Version, VersionFile
from autograder.service.store import DatabaseStore

MOST_BYTES = 512 << 20
"""Maximum size of a version's files; a content with several names counts once."""
_SMALL, _AT_ONCE = 1 << 20, 16
"""Files up to this size are fetched in batches of this number; larger ones in parts."""


def take(record: CourseRecord, course: Course, name: str) -> Version:
    """Import a released assignment. The same files again are the same version.

    Raises:
        CourseError: a file cannot be read, or the files are too large together.
        RubricError: the rubric is not valid.
        ServiceError: the course in the database has another secret.
    """
    if course.secret() != bytes(record.secret):
        raise ServiceError(
            f"{course.root}: its secret is not that of the course {record.slug!r} in the database; variants "
            "and hidden inputs would not be the same"
        )
    rubric = rubrics.load(course.rubric(name))
    if not course.release(name).is_dir():
        raise CourseError(f"{course.release(name)}: not released yet; run: autograder generate {name}")
    listing: dict[str, str] = {}
    places: dict[str, Path] = {}
    known: dict[tuple[int, int], str] = {}
    total = 0
    for path in _files(course, name):
        status = path.stat()
        identity = (status.st_dev, status.st_ino)  # students' releases are hard links to the same data
        if identity not in known:
            known[identity] = hashlib.sha256(_content(path)).hexdigest()
        digest = listing[path.relative_to(course.root).as_posix()] = known[identity]
        total += 0 if digest in places else status.st_size
        places.setdefault(digest, path)
        if total > MOST_BYTES:
            raise CourseError(f"{name}: its files are larger than {MOST_BYTES >> 20} MB together")
    return _kept(record, name, listing, map(_content, places.values()), rubric.version)


def _kept(
    record: CourseRecord, name: str, listing: Mapping[str, str], new: Iterable[bytes], rubric_version: int
) -> Version:
    """Return the version with these files, digest by path; create it with the next number if it is new.

    Raises:
        CourseError: a new file cannot be read, or differs from the listing.
    """
    digest = hashlib.sha256(json.dumps(listing, sort_keys=True).encode()).hexdigest()
    with transaction.atomic():
        CourseRecord.objects.select_for_update().get(pk=record.pk)
        known = Version.objects.filter(course=record, assignment=name)
        if found := known.filter(digest=digest).first():
            return found
        number = (known.aggregate(last=Max("number"))["last"] or 0) + 1
        version = Version.objects.create(
            course=record, assignment=name, number=number, digest=digest, rubric_version=rubric_version
        )
        # The files were hashed before the lock; read again here, they may have changed in between.
        if not set(blobs.put(new)) <= set(listing.values()):
            raise CourseError(f"{name}: its files were changed just now; take it over once more")
        VersionFile.objects.bulk_create(
            VersionFile(version=version, path=path, blob_id=one) for path, one in listing.items()
        )
    return version


def grades_alike(one: Version, other: Version) -> bool:
    """Decide whether two versions of an assignment have the same rubric and the same reference."""
    reference = f"{Course(Path()).reference.as_posix()}/"
    wanted = Q(path=_rubric_path(one)) | Q(path__startswith=reference)
    before, after = (set(each.files.filter(wanted).values_list("path", "blob_id")) for each in (one, other))
    return before == after


def prepare(version: Version) -> None:
    """Create a row for each graded cell of a version, and remove all others.

    Raises:
        GradebookError: an obsolete cell has a person's mark, or a notebook lacks a cell.
    """
    rubric = rubric_of(version)
    release = _below(version, f"release/{version.assignment}/")
    names = [f"{one.name}.ipynb" for one in rubric.assignment.notebooks]
    contents = blobs.get([release[name] for name in names if name in release])
    releases = {name.removesuffix(".ipynb"): contents[release[name]] for name in names if name in release}
    DatabaseStore(version.course).prepare(rubric, releases)


def rubric_file(version: Version) -> tuple[str, bytes]:
    """Return a version's rubric: its path in a course folder, and its bytes.

    Raises:
        ServiceError: the version has none.
    """
    path = _rubric_path(version)
    row = version.files.filter(path=path).first()
    if row is None:
        raise ServiceError(f"version {version.number} of {version.assignment!r} has no {path}")
    return path, blobs.get([row.blob_id])[row.blob_id]


def _rubric_path(version: Version) -> str:
    return f"{Course(Path()).rubrics.as_posix()}/{version.assignment}.toml"


def rubric_of(version: Version) -> Rubric:
    """Return a version's rubric, read and validated with the check files that it names.

    Raises:
        RubricError: it is no longer valid for this program version.
        ServiceError: the version has none.
    """
    path, data = rubric_file(version)
    reference = Course(Path()).reference
    sources = {
        name: digest
        for name, digest in _below(version, f"{reference.as_posix()}/").items()
        if name.endswith(".py")
    }
    # A rubric loads its check files from disk.
    with tempfile.TemporaryDirectory() as folder:
        for digest, source in blobs.get(set(sources.values())).items():
            for name in (name for name in sources if sources[name] == digest):
                atomic.write(_place(version, Path(folder), name), source)
        return rubrics.parse(data, path, Path(folder))


def _files(course: Course, name: str) -> Iterator[Path]:
    """Yield all files of an assignment; symbolic links are skipped."""
    folders = [
        course.source(name),
        course.reference,
        course.release(name),
        course.variants(name),
        *(course.root / "personal").glob(f"*/{name}"),
    ]
    yield course.rubric(name)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if "__pycache__" in path.parts or atomic.PARTIAL.fullmatch(path.name):
                continue
            if path.is_file() and not path.is_symlink():
                yield path


def _content(path: Path) -> bytes:
    """Return the bytes of a course file.

    Raises:
        CourseError: it cannot be read.
    """
    try:
        return atomic.read(path, most=MOST_BYTES)
    except OSError as error:
        raise CourseError(f"{path}: cannot be read: {error.strerror}") from error


def offer(record: CourseRecord, course: Course, name: str, version: Version | None = None) -> Offer:
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
    version = version or take(record, course, name)
    rubric = rubrics.load(course.rubric(name))
    schedule.load(course, rubric)  # report impossible times here, not at the first submission
    times = msgspec.to_builtins(schedule.stated(course, name) or {})
    title = next(iter(rubric.assignment.title.values()), name)
    with transaction.atomic():
        prepare(version)
        made, _ = Offer.objects.select_for_update().get_or_create(
            course=record, assignment=name, defaults={"version": version, "title": title, "times": times}
        )
        if made.version_id != version.pk:
            made.version = version
            made.save(update_fields=["version"])
        take_groups(made, course)
    return made


def take_groups(offer: Offer, course: Course) -> None:
    """Set the groups from groups.csv, unless staff have formed groups in the service.

    Raises:
        CourseError: the file is not usable.
    """
    teams = {team.name: list(team.members) for team in groups.load(course, offer.assignment)}
    if not offer.formed_here and offer.groups != teams:
        offer.groups = teams
        offer.save(update_fields=["groups"])


def lay_out(version: Version, folder: Path) -> Course:
    """Write a version's files into an empty folder, with the course's secret.

    Raises:
        ServiceError: one of its paths leads outside of the folder.
    """
    places: dict[str, list[Path]] = {}
    for path, digest in version.files.values_list("path", "blob_id"):
        places.setdefault(digest, []).append(_place(version, folder, path))
    small = [digest for digest, size in blobs.sizes(places).items() if size <= _SMALL]
    for start in range(0, len(small), _AT_ONCE):
        for digest, data in blobs.get(small[start : start + _AT_ONCE]).items():
            atomic.write(places[digest][0], data)
    for digest, (first, *others) in places.items():
        if digest not in small:
            atomic.write(first, blobs.parts(digest))
        for other in others:
            # Files with the same content share one copy on disk.
            atomic.link(first, other)
    for name in ("assignments", "rubrics"):
        (folder / name).mkdir(exist_ok=True)
    private = folder / PRIVATE
    private.mkdir(mode=0o700, exist_ok=True)
    atomic.write(private / "secret", bytes(version.course.secret), mode=0o600)
    return Course.at(folder)


def _place(version: Version, folder: Path, path: str) -> Path:
    """Return the path of a version's file below a folder; create the parent folders.

    Raises:
        ServiceError: it leads outside of the folder.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise ServiceError(f"version {version.pk}: {path!r} is no path below a course")
    (folder / pure).parent.mkdir(parents=True, exist_ok=True)
    return folder / pure


def names(version: Version, student: str) -> tuple[str, ...]:
    """Return the names of a student's files."""
    return tuple(_given(version, student))


def released(version: Version, student: str, names: Collection[str] | None = None) -> Mapping[str, bytes]:
    """Return a student's files, or some of them: personal ones if there are variants, else the common ones.

    A file that is requested by name and has no personal version is the common one.
    """
    files = _given(version, student)
    if names is not None:
        files = {name: files[name] for name in names if name in files}
        if missing := set(names) - files.keys():
            common = _below(version, f"release/{version.assignment}/")
            files |= {name: common[name] for name in sorted(missing & common.keys())}
    contents = blobs.get(files.values())
    return {name: contents[digest] for name, digest in files.items()}


def digests(version: Version, student: str) -> Mapping[str, str]:
    """Return the SHA-256 of each of a student's files, by name."""
    return _given(version, student)


def _given(version: Version, student: str) -> dict[str, str]:
    """Return the digests of a student's files by name."""
    own = _below(version, f"personal/{student}/{version.assignment}/")
    return own or _below(version, f"release/{version.assignment}/")


def _below(version: Version, folder: str) -> dict[str, str]:
    files = version.files.filter(path__startswith=folder).values_list("path", "blob_id")
    return {path.removeprefix(folder): digest for path, digest in files.order_by("path")}
