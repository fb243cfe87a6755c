"""Creating courses, uploading and offering assignments in the browser, and publishing with open work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from autograder.core.errors import ServiceError
from tests.service import course
from tests.service.test_drafts import pack, passed, sources
from tests.web.people import Small
from tests.web.test_staff import entries, graded
from tests.web.test_staff import page as staff_page
from tests.web.test_student import text


def upload(at: Small, role: str, data: bytes, **options: Any) -> Any:
    """Upload an archive."""
    sent = {"archive": SimpleUploadedFile("course.zip", data)}
    return at.client(role, **options).post(f"{at.base}staff/upload", sent, follow=True)


def test_an_administrator_creates_a_course(at: Small) -> None:
    """The course gets its secret, and its short name must be unused."""
    from autograder.service.models import CourseRecord

    client, slug = at.client("superuser"), f"new-{at.record.slug}"
    assert "Create course" in text(client.get("/app/"))
    assert "<title>Your courses</title>" in text(client.get("/app/"))
    long = text(client.post("/app/courses/create", {"title": "x" * 201, "slug": f"{slug}-3"}))
    assert "at most 200 characters" in long
    assert "maxlength" not in long, "no browser cuts it"
    form = {"title": "New <b>course</b>", "slug": slug}
    assert "New &lt;b&gt;course" in text(client.post("/app/courses/create", form, follow=True))
    record = CourseRecord.objects.get(slug=slug)
    assert 32 == len(bytes(record.secret))
    assert bytes(record.secret) != bytes(at.record.secret)
    assert "already a course with this short name" in text(client.post("/app/courses/create", form))
    assert 200 == client.post("/app/courses/create", {"title": "x", "slug": "../x"}).status_code
    guarded = at.client("superuser", enforce_csrf_checks=True)
    assert 403 == guarded.post("/app/courses/create", {"title": "x", "slug": f"{slug}-2"}).status_code
    assert 1 == CourseRecord.objects.filter(slug__startswith=slug).count()


def test_an_empty_folder_is_served_without_a_course(
    at: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service starts without a course in an empty folder, and rejects a folder with other files."""
    from autograder.service.models import CourseRecord
    from autograder.web.processes import ServiceOptions
    from autograder.web.server import Service

    monkeypatch.setattr(CourseRecord.objects, "exists", lambda: False)
    before = CourseRecord.objects.count()
    service = Service(ServiceOptions(tmp_path / "new"))
    service.import_course()
    (tmp_path / "new" / "thesis.tex").touch()
    with pytest.raises(ServiceError, match=r"has files, but no course.*or an empty folder"):
        service.import_course()
    assert before == CourseRecord.objects.count()


def test_an_assignment_is_uploaded_and_offered(at: Small) -> None:
    """The page shows the progress of the check, and then the version can be used; both are logged."""
    content = text(upload(at, "instructor", pack(sources(at.folder)).getvalue()))
    assert "The check is waiting" in content
    draft = at.record.drafts.get()
    place, client = f"{at.base}staff/drafts/{draft.pk}/", at.client("instructor")
    assert "HX-Refresh" not in client.get(f"{place}progress").headers
    listed = text(client.get(f"{at.base}staff/"))
    assert small_link(draft.pk) in listed
    assert "course.zip" in listed
    finding = {"paper": "course", "place": "small", "expected": "x", "got": "<script>", "remedy": "y"}
    type(draft).objects.filter(pk=draft.pk).update(state="failed", findings=[finding])
    assert "true" == client.get(f"{place}progress").headers["HX-Refresh"]
    content = text(client.get(place))
    assert "1 problem was found" in content
    assert "&lt;script&gt;" in content
    assert "Use this version" not in content
    assert "has not passed" in text(client.post(f"{place}offer", follow=True))
    client.post(f"{place}check", {"full": "yes"})
    draft.refresh_from_db()
    assert ("waiting", True) == (draft.state, draft.full)
    type(draft).objects.filter(pk=draft.pk).update(state="passed", version=at.offer.version)
    assert "is in use now" in text(client.post(f"{place}offer", follow=True))
    actions = [action for action, _, _ in entries(at)]
    assert ["upload draft", "version"] == actions
    assert "This draft was offered." in text(client.get(place))


def test_an_assignment_is_fetched_from_a_repository(at: Small) -> None:
    """The page shows what is asked for, and its problems in the reader's language; the address is kept."""
    from autograder.service import drafts
    from autograder.service.refusals import RequestRefused

    form = {
        "address": "https://git.example.org/dl.git",
        "ref": "winter",
        "folder": "exams",
        "assignment": "small",
    }
    client = at.client("instructor")
    content = text(client.post(f"{at.base}staff/upload", form, follow=True))
    draft = at.record.drafts.get()
    for shown in ("https://git.example.org/dl.git", "branch or tag winter", "folder exams", "is waiting"):
        assert shown in content
    assert "Fetch again" not in content
    assert "https://git.example.org/dl.git" in text(client.get(f"{at.base}staff/"))
    place, rows = f"{at.base}staff/drafts/{draft.pk}/", type(draft).objects.filter(pk=draft.pk)
    rows.update(state="running")
    assert "The repository is being fetched." in text(client.get(place))
    assert "The repository is being fetched." in text(client.get(f"{at.base}staff/"))
    finding = drafts._make_finding(draft, RequestRefused("git-no-ref", ref="<b>").text)
    rows.update(state="failed", findings=msgspec.to_builtins([finding]))
    german = text(at.client("instructor", headers={"accept-language": "de"}).get(place))
    assert "keinen Branch und kein Tag „&lt;b&gt;“" in german
    content = text(client.get(place))
    assert "no branch or tag “&lt;b&gt;”" in content
    assert "Check again" not in content, "there is nothing yet"
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', content))
    again = text(client.post(f"{at.base}staff/upload", {name: sent[name] for name in form}, follow=True))
    assert "is waiting" in again
    assert (
        2
        == at.record.drafts.filter(git_address=form["address"], git_ref="winter", assignment="small").count()
    )
    assert ["fetch draft", "fetch draft"] == [action for action, _, _ in entries(at)]


def test_addresses_are_refused_with_a_reason(at: Small) -> None:
    """No draft is made, and nothing is stored."""
    address, client = "https://git.example.org/dl.git", at.client("instructor")
    archive = SimpleUploadedFile("course.zip", pack(sources(at.folder)).getvalue())
    for form, said in (
        ({"address": address, "assignment": ""}, "cannot be the name of an assignment"),
        ({"address": address, "assignment": "../x"}, "cannot be the name of an assignment"),
        ({"address": address, "assignment": "small", "ref": "-x"}, "cannot be the name of a branch"),
        ({"address": address, "assignment": "small", "folder": ".."}, "cannot be a folder of a course"),
        (
            {"address": "https://jdoe:hunter2@git.example.org/dl.git", "assignment": "small"},
            "would be stored",
        ),
        ({"address": "http://git.example.org/hunter2", "assignment": "small"}, "expected an address such as"),
        ({"address": address, "assignment": "small", "archive": archive}, "not both"),
    ):
        content = text(client.post(f"{at.base}staff/upload", form, follow=True))
        assert said in content
        assert ("hunter2" in content) is ("hunter2" in form["address"]), "only in the form that is sent again"
        assert f'name="ref" value="{form.get("ref", "")}"' in content, "nothing has to be typed again"
    form = {"address": address, "assignment": "small"}
    assert 403 == at.client("head-ta").post(f"{at.base}staff/upload", form).status_code
    assert not at.record.drafts.exists()
    assert not entries(at)


def small_link(number: int) -> str:
    """Return the end of the link to a draft."""
    return f'/staff/drafts/{number}/">small</a>'


def test_a_draft_is_discarded(at: Small) -> None:
    """Discarding asks for confirmation and removes the draft from the list."""
    draft = passed(at.record, at.account("instructor"), at.folder)
    client = at.client("instructor")
    assert "disappear from the list" in text(client.get(f"{at.base}staff/drafts/{draft.pk}/")), "asks first"
    assert "was discarded" in text(client.post(f"{at.base}staff/drafts/{draft.pk}/discard", follow=True))
    assert small_link(draft.pk) not in text(client.get(f"{at.base}staff/"))


def test_uploads_are_refused_with_a_reason(at: Small) -> None:
    """Missing files, other files, missing CSRF tokens and uploads by TAs are rejected."""
    assert "not a zip archive" in text(upload(at, "instructor", b"no archive"))
    answer = at.client("instructor").post(f"{at.base}staff/upload", follow=True)
    assert "choose an archive, or enter the address of a Git repository" in text(answer)
    data = pack(sources(at.folder)).getvalue()
    assert 403 == upload(at, "head-ta", data).status_code
    assert 403 == upload(at, "instructor", data, enforce_csrf_checks=True).status_code
    assert not at.record.drafts.exists()


def test_drafts_of_another_course_are_not_found(at: Small) -> None:
    """All routes of a draft in another course return 404."""
    from autograder.service.models import CourseRecord

    other = CourseRecord.objects.create(slug=f"{at.record.slug}-2", title="x", secret=at.record.secret)
    draft = passed(at.record, at.account("instructor"), at.folder)
    type(draft).objects.filter(pk=draft.pk).update(course=other)
    client, place = at.client("instructor"), f"{at.base}staff/drafts/{draft.pk}/"
    assert [404, 404] == [client.get(f"{place}{name}").status_code for name in ("", "progress")]
    posted = [client.post(f"{place}{name}").status_code for name in ("check", "offer", "discard")]
    assert [404, 404, 404] == posted


def test_publishing_states_open_work(at: Small) -> None:
    """The confirmation lists open work if there is any."""
    graded(at, "ada")
    course.handed_in(at.offer, "bob", course.released(at.folder))
    client = at.client("instructor")
    content = text(client.get(staff_page(at)))
    assert "1 attempt is not graded yet." in content
    assert "The marks of 1 student are provisional." in content
    assert "Publish incomplete marks" in content
    at.offer.attempts.filter(student="bob").delete()
    assert "not graded yet" not in text(client.get(staff_page(at)))
    answer = client.post(f"{staff_page(at)}published", {"wanted": "yes"})
    assert 302 == answer.status_code
    at.offer.refresh_from_db()
    assert at.offer.published_at is not None


@pytest.mark.usefixtures("small_folder")
def test_the_folder_is_in_use_again_when_staff_import_it(at: Small, tmp_path: Path) -> None:
    """After an upload, the folder is used again once staff import it."""
    from django.conf import settings
    from django.test import override_settings
    from msgspec.structs import replace

    type(at.offer).objects.filter(pk=at.offer.pk).update(uploaded=True)
    running = replace(settings.RUNNING, folders={at.record.slug: at.folder})
    with override_settings(RUNNING=running):
        at.client("instructor").post(f"{staff_page(at)}update")
    at.offer.refresh_from_db()
    assert not at.offer.uploaded
