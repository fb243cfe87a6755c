"""Uploaded assignments: accepted archives, the check, and offering the version."""

from __future__ import annotations

import datetime
import io
import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autograder.app import open_course
from autograder.core.errors import ServiceError
from autograder.sandbox.levels import Isolation
from tests.service import course
from tests.service.repository import Repository
from tests.support import small_course

if TYPE_CHECKING:
    from autograder.service.models import Account, CourseRecord
    from autograder.service.models_results import Draft

TOUCH = """
import pathlib
try:
    pathlib.Path(PLACE).touch()
except OSError:
    pass
"""
RUBRIC = f"rubrics/{small_course.NAME}.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small course with a release."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def record(service_course: CourseRecord, folder: Path) -> CourseRecord:
    """Return a course with the secret of the folder."""
    service_course.secret = open_course(folder).load_secret()
    service_course.save()
    return service_course


@pytest.fixture
def by(record: CourseRecord) -> Account:
    """Return an instructor's account."""
    from autograder.service.models import Account

    return Account.objects.create(username=f"{record.slug}-author")


def sources(folder: Path, **changed: bytes) -> dict[str, bytes]:
    """Return the source files of the assignment; ``rubric`` replaces the rubric."""
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for top in (f"assignments/{small_course.NAME}", "rubrics", "reference")
        for path in sorted((folder / top).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {**files, RUBRIC: changed.get("rubric", files[RUBRIC])}


def pack(files: Mapping[str, bytes], link: str = "") -> io.BytesIO:
    """Return an archive, in which one file may be a symbolic link."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = ((stat.S_IFLNK if name == link else stat.S_IFREG) | 0o644) << 16
            archive.writestr(info, data)
    packed.seek(0)
    return packed


def uploaded(record: CourseRecord, by: Account, files: Mapping[str, bytes]) -> Draft:
    """Return a draft that waits for its check."""
    from autograder.service import drafts

    return drafts.upload_draft(record, pack(files), by)


def passed(record: CourseRecord, by: Account, folder: Path) -> Draft:
    """Return a draft with the version of a folder, marked as passed without a check."""
    from autograder.service import versions

    draft = uploaded(record, by, sources(folder))
    draft.version = versions.import_version(record, open_course(folder), small_course.NAME)
    draft.state = "passed"
    draft.save()
    return draft


def test_upload_takes_the_folder_that_new_began(
    record: CourseRecord, by: Account, folder: Path, tmp_path: Path
) -> None:
    """The folder may be zipped with its top folder; unneeded files are ignored."""
    from autograder.authoring.new_assignment import start_assignment
    from autograder.service import drafts

    start_assignment(tmp_path, "sheet", ["written"])
    files = {
        path.relative_to(tmp_path.parent).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    top = tmp_path.name
    unused = {f"{top}/.autograder/secret": b"", f"{top}/rubrics/.schema.json": b"{}"}
    assert f"{top}/README.md" in files
    draft = uploaded(record, by, {**files, **unused, f"{top}/release/sheet/sheet.ipynb": b"{}"})
    assert "sheet" == draft.assignment
    (tmp_path / "laid").mkdir()
    drafts._lay_out(draft, tmp_path / "laid")
    laid = {path.relative_to(tmp_path / "laid").as_posix() for path in (tmp_path / "laid").rglob("*")}
    assert "rubrics/sheet.toml" in laid
    assert not laid & {"README.md", "rubrics/.schema.json", "release/sheet/sheet.ipynb"}


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({RUBRIC: None}, "expected one rubric"),
        ({"rubrics/other.toml": b""}, "the archive has 2"),
        ({"../outside.py": b""}, "leads out of the archive"),
        ({"/etc/passwd": b""}, "absolute place"),
        ({"roster.csv": b""}, r"roster.csv: expected rubrics/small.toml.*leave it out"),
        ({"assignments/other/x.ipynb": b""}, "expected rubrics/small.toml"),
        ({"reference/.hidden": b""}, "this path cannot be used"),
        ({"submitted/ada/small/code.ipynb": b""}, "leave it out"),
    ],
)
def test_upload_refuses_archives_with_other_files(
    record: CourseRecord, by: Account, folder: Path, extra: dict[str, bytes | None], message: str
) -> None:
    """The message names the file, and no draft is stored."""
    files = {name: data for name, data in {**sources(folder), **extra}.items() if data is not None}
    with pytest.raises(ServiceError, match=message):
        uploaded(record, by, files)
    assert not record.drafts.exists()


def test_upload_refuses_links_bombs_and_what_is_no_archive(
    record: CourseRecord, by: Account, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Links, zip bombs and other files are rejected before anything is unpacked."""
    from autograder.service import drafts

    files = {**sources(folder), "reference/link.py": b"/etc/passwd"}
    with pytest.raises(ServiceError, match="it is a link"):
        drafts.upload_draft(record, pack(files, link="reference/link.py"), by)
    with pytest.raises(ServiceError, match="not a zip archive"):
        drafts.upload_draft(record, io.BytesIO(b"PK"), by)
    with pytest.raises(ServiceError, match="times as many"):
        uploaded(record, by, {**sources(folder), "reference/zeros.txt": bytes(20 << 20)})
    monkeypatch.setattr(drafts, "MOST_BYTES", 100)
    with pytest.raises(ServiceError, match="in total"):
        uploaded(record, by, sources(folder))


def test_check_makes_a_version_that_is_offered(record: CourseRecord, by: Account, folder: Path) -> None:
    """The check runs in the sandbox, and the offer is hidden at first. The archive may have a top folder."""
    from autograder.service import drafts

    draft = uploaded(record, by, {f"course/{name}": data for name, data in sources(folder).items()})
    claimed = drafts.claim_draft(draft.pk)
    assert claimed is not None
    assert drafts.claim_draft(draft.pk) is None, "another worker has it"
    drafts.check_draft(claimed, Isolation.NAMESPACES)
    draft.refresh_from_db()
    assert ("passed", []) == (draft.state, draft.findings)
    offer, trial = drafts.offer_draft(draft, by)
    assert (None, False, True) == (trial, offer.visible, type(offer).objects.get(pk=offer.pk).uploaded)
    names = set(offer.version.files.values_list("path", flat=True))
    assert {RUBRIC, "release/small/code.ipynb", "release/small/formulas.ipynb"} <= names
    with pytest.raises(ServiceError, match="already offered"):
        drafts.offer_draft(draft, by)


def test_check_names_a_missing_notebook_by_its_place_in_the_course(
    record: CourseRecord, by: Account, folder: Path
) -> None:
    """The finding names the file to the author, and does not ask to submit it."""
    from autograder.service import drafts

    files = {name: data for name, data in sources(folder).items() if not name.endswith("code.ipynb")}
    claimed = drafts.claim_draft(uploaded(record, by, files).pk)
    assert claimed is not None
    drafts.check_draft(claimed, Isolation.NAMESPACES)
    claimed.refresh_from_db()
    findings = str(claimed.findings)
    assert "code.ipynb" in findings
    assert "autograder-draft-" not in findings
    assert "hand it in" not in findings


def test_check_reports_what_is_wrong(record: CourseRecord, by: Account, folder: Path) -> None:
    """An invalid rubric is a finding, and the draft cannot be offered."""
    from autograder.service import drafts

    draft = uploaded(record, by, sources(folder, rubric=b"[assignment"))
    claimed = drafts.claim_draft(draft.pk)
    assert claimed is not None
    drafts.check_draft(claimed, Isolation.NAMESPACES)
    draft.refresh_from_db()
    assert "failed" == draft.state
    assert "small.toml" in draft.findings[0]["got"]
    assert "Kurs" == draft.findings[0]["paper"]["text"]["de"]
    assert "Berichtigen Sie" in draft.findings[0]["remedy"]["text"]["de"]
    assert "/autograder-draft-" not in str(draft.findings), "paths are those of the course"
    with pytest.raises(ServiceError, match="has not passed"):
        drafts.offer_draft(draft, by)
    drafts.request_check(draft, full=True)
    draft.refresh_from_db()
    assert ("waiting", True, []) == (draft.state, draft.full, draft.findings)


def test_reference_code_is_never_run_by_worker_or_pages(
    record: CourseRecord, by: Account, folder: Path, tmp_path: Path
) -> None:
    """Worker and pages do not run reference code while checking or offering: no file is left behind."""
    from autograder.service import drafts

    trace = tmp_path / "trace"
    files = sources(folder)
    for name in files:
        if name.endswith(".py"):
            harm = (
                f"import pathlib\ntry:\n    pathlib.Path({str(trace)!r}).touch()\nexcept OSError:\n    pass\n"
            )
            files[name] += harm.encode()
    draft = uploaded(record, by, files)
    claimed = drafts.claim_draft(draft.pk)
    assert claimed is not None
    drafts.check_draft(claimed, Isolation.NAMESPACES)
    draft.refresh_from_db()
    if draft.version is not None:
        drafts.offer_draft(draft, by)
    assert not trace.exists()
    assert "passed" == draft.state, draft.findings


def test_two_uploads_cannot_both_come_into_use(record: CourseRecord, by: Account, folder: Path) -> None:
    """The second upload is rejected, because it is based on a version that is no longer offered."""
    from autograder.service import drafts

    first, second = (passed(record, by, folder) for _ in range(2))
    drafts.offer_draft(first, by)
    with pytest.raises(ServiceError, match="another version has come into use"):
        drafts.offer_draft(second, by)
    third = passed(record, by, folder)
    assert third.base == first.version
    drafts.discard_draft(third, by)
    with pytest.raises(ServiceError, match="discarded"):
        drafts.offer_draft(third, by)


def test_a_version_that_changes_marks_is_tried_first(
    record: CourseRecord, by: Account, folder: Path, tmp_path: Path
) -> None:
    """With attempts, a trial begins; groups stay, and a restart does not import the folder again."""
    from autograder.service import drafts, trials, versions
    from autograder.service.models import Offer

    drafts.offer_draft(passed(record, by, folder), by)
    offer = Offer.objects.get(course=record)
    offer.groups = {"red": ["ada", "bob"]}
    offer.save()
    course.handed_in(offer, "ada", course.released(folder))
    other = course.small(tmp_path / "other")
    path = other / RUBRIC
    path.write_text(path.read_text().replace("Where the mask is", "Where a mask is") + "\n# changed\n")
    versions.write_secret(record, other)
    _, trial = drafts.offer_draft(passed(record, by, other), by)
    assert trial is not None
    offer.refresh_from_db()
    assert ({"red": ["ada", "bob"]}, 1) == (offer.groups, offer.version.number)
    assert (offer, None) == trials.import_assignment(record, open_course(other), small_course.NAME)


def test_a_draft_of_a_lost_worker_is_checked_again_and_not_for_ever(
    record: CourseRecord, by: Account, folder: Path
) -> None:
    """The sweep finds the draft, late results are dropped, and the check fails after three tries."""
    from autograder.service import drafts

    draft = uploaded(record, by, sources(folder))
    lost: list[Any] = []
    for _ in range(drafts.MOST_TRIES):
        lost.append(drafts.claim_draft(draft.pk))
        before = datetime.datetime.now(datetime.UTC) - 2 * drafts.LEASE
        type(draft).objects.filter(pk=draft.pk).update(alive_at=before)
    drafts.give_back(lost[0], "late")
    assert drafts.claim_draft(draft.pk) is None
    draft.refresh_from_db()
    assert "failed" == draft.state
    assert "the worker stopped each time" in draft.findings[0]["got"]["text"]["en"]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository that may be fetched."""
    from autograder.service import git_repositories

    monkeypatch.setenv(git_repositories.FOLDERS, str(tmp_path))
    return Repository(tmp_path / "course.git")


def requested(record: CourseRecord, by: Account, repository: Repository, ref: str = "") -> Draft:
    """A draft that waits to be fetched."""
    from autograder.service import drafts
    from autograder.service.git_repositories import GitSource

    return drafts.request_draft(record, GitSource(f"file://{repository.path}", ref), small_course.NAME, by)


def test_an_assignment_is_fetched_and_becomes_the_same_version(
    record: CourseRecord, by: Account, folder: Path, repository: Repository
) -> None:
    """Its archive stays: a second check needs no repository. A new request gets the newest commit."""
    from autograder.service import drafts

    commit = repository.commit({**sources(folder), "rubrics/other.toml": b"", "roster.csv": b""})
    draft = requested(record, by, repository)
    assert ("waiting", "", None) == (draft.step, draft.git_commit, draft.archive)
    claimed = drafts.claim_draft(draft.pk)
    assert claimed is not None
    assert "fetching" == claimed.step
    drafts.check_draft(claimed, Isolation.NAMESPACES)
    draft.refresh_from_db()
    assert ("passed", [], commit) == (draft.step, draft.findings, draft.git_commit)
    assert draft.archive_id is not None
    offer, _ = drafts.offer_draft(draft, by)
    assert offer.version == passed(record, by, folder).version
    newer = repository.commit(sources(folder, rubric=b"[assignment"))
    again = drafts.claim_draft(requested(record, by, repository).pk)
    assert again is not None
    assert offer.version == again.base
    drafts.check_draft(again, Isolation.NAMESPACES)
    again.refresh_from_db()
    assert ("failed", newer) == (again.state, again.git_commit)
    shutil.rmtree(repository.path)
    drafts.request_check(again, full=False)
    checked = drafts.claim_draft(again.pk)
    assert checked is not None
    assert "running" == checked.step
    drafts.check_draft(checked, Isolation.NAMESPACES)
    checked.refresh_from_db()
    assert "small.toml" in checked.findings[0]["got"]


def test_a_draft_that_cannot_be_fetched_says_why(
    record: CourseRecord, by: Account, folder: Path, repository: Repository
) -> None:
    """In every language; archives of repositories are checked as uploads are."""
    from autograder.service import drafts

    repository.commit({**sources(folder), "reference/.hidden": b""})
    for ref, english, german in (
        ("summer", "no branch or tag “summer”", "keinen Branch und kein Tag „summer“"),
        ("main", "reference/.hidden: this path cannot be used", "reference/.hidden: "),
    ):
        claimed = drafts.claim_draft(requested(record, by, repository, ref).pk)
        assert claimed is not None
        drafts.check_draft(claimed, Isolation.NAMESPACES)
        claimed.refresh_from_db()
        assert ("failed", None, "") == (claimed.state, claimed.archive, claimed.git_commit)
        assert english in claimed.findings[0]["got"]["text"]["en"]
        assert german in claimed.findings[0]["got"]["text"]["de"]
        drafts.discard_draft(claimed, by)


def test_a_worker_that_lost_a_draft_stores_no_archive(
    record: CourseRecord, by: Account, folder: Path, repository: Repository
) -> None:
    """Another one has it, or its instructor has discarded it."""
    from autograder.service import drafts
    from autograder.service.models import AuditEntry

    repository.commit(sources(folder))
    lost = drafts.claim_draft(requested(record, by, repository).pk)
    assert lost is not None
    drafts.discard_draft(lost, by)
    drafts.check_draft(lost, Isolation.NAMESPACES)
    lost.refresh_from_db()
    assert ("running", "discarded", None, "") == (lost.state, lost.settled, lost.archive, lost.git_commit)
    assert not AuditEntry.objects.filter(course=record, action="upload draft").exists()
