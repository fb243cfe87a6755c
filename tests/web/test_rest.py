"""REST API: permissions of each key and role, and responses that match the OpenAPI document."""

from __future__ import annotations

import datetime
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from autograder.service.receipts import verify_receipt
from tests.service import course
from tests.web.people import ROLES, Small
from tests.web.programs import SCOPES, Program, check_reply, document, operations, program, program_of
from tests.web.test_staff import canned

STAFF = ("ta", "head-ta", "instructor", "administrator", "superuser")
LEADING = STAFF[2:]
MEMBERS = ("student", *STAFF)

ALLOWED = {
    "list_own_courses": ("read", ROLES[1:]),
    "list_assignments": ("read", MEMBERS),
    "get_assignment": ("read", MEMBERS),
    "change_assignment": ("manage", LEADING),
    "get_times": ("read", LEADING),
    "set_times": ("manage", LEADING),
    "set_extension": ("manage", LEADING),
    "list_requests": ("read", STAFF),
    "answer_request": ("mark", STAFF),
    "download_files": ("read", ("student",)),
    "download_feedback": ("read", ("student",)),
    "submit_files": ("submit", ("student",)),
    "list_attempts": ("read", MEMBERS),
    "get_attempt": ("read", MEMBERS),
    "get_receipt": ("read", ("student",)),
    "download_file": ("read", MEMBERS),
    "get_readings": ("read", MEMBERS),
    "list_results": ("read", STAFF),
    "get_result": ("read", MEMBERS),
    "list_answers": ("read", STAFF),
    "mark_answer": ("mark", STAFF),
    "list_members": ("read", LEADING),
    "import_students": ("manage", LEADING),
    "search_people": ("manage", ("superuser",)),
    "export_person": ("manage", ("superuser",)),
    "erase_person": ("manage", ("superuser",)),
}
"""The scope that each operation requires, and the roles that may use it."""


TIMES = {
    "start": "2031-05-04T10:00:00",
    "end": "2031-05-04T12:00:00",
    "zone": "Europe/Berlin",
    "late": "penalty",
    "penalty": {"per_day": "10", "cap": 50},
    "grace_minutes": 5,
    "late_days": "24-hours",
    "slip_days": {"days": 5, "most": 2},
}
"""Dates with every rule about late submissions."""


class Class(SimpleNamespace):
    """The small course with a graded attempt of ada that needs manual review."""

    def place(self, operation: str) -> tuple[str, str]:
        """Return method and address of an operation."""
        method, path = operations()[operation]
        query = "?search=zoe" if operation == "search_people" else ""
        parts = {**self.parts, **self.further.get(operation, {})}
        return method, path.removeprefix("/api").format(**parts) + query

    def body(self, operation: str) -> dict[str, Any]:
        """Return the request body of an operation."""
        files = course.released(self.at.folder)
        return {
            "change_assignment": {"body": {"visible": True, "published": True}},
            "set_times": {"body": TIMES},
            "set_extension": {"body": {"extra_minutes": 30, "late": "accept"}},
            "answer_request": {"body": {"text": "So it is.", "points": "0.5"}},
            "submit_files": {"files": [SimpleUploadedFile(name, data) for name, data in files.items()]},
            "mark_answer": {"body": {"revision": self.answer.revision, "items": {"why": "0.5"}}},
            "import_students": {"body": {"students": [{"student": "eve", "email": "eve@example.org"}]}},
        }.get(operation, {})


@pytest.fixture
def small_class(at: Small) -> Class:
    """Return the small course with the graded attempt."""
    from autograder.service.models import CellMark, Member

    attempt = canned(at, course.handed_in(at.offer, "ada", course.released(at.folder)))
    at.offer.published_at, at.offer.times = attempt.submitted_at, {"end": TIMES["end"] + "Z"}
    at.offer.save()
    # The canned result leaves every item open, so the answer needs manual review.
    marks = CellMark.objects.filter(place__course=at.record, place__cell="mlp-why", student="ada")
    marks.update(answered=True)
    parts = {
        "slug": at.record.slug,
        "assignment": at.offer.assignment,
        "attempt": attempt.pk,
        "name": "code.ipynb",
        "student": "ada",
        "answer": marks.get().pk,
        "kind": "member",
        "number": Member.objects.create(course=at.record, role="student", student="zoe").pk,
    }
    further = {"set_extension": {"name": "ada"}, "answer_request": {"number": requested(at).pk}}
    return Class(at=at, attempt=attempt, answer=marks.get(), parts=parts, further=further)


def requested(at: Small) -> Any:
    """Create a regrade request of ada about the item that needs manual review."""
    from autograder.service.models import RegradeRequest

    return RegradeRequest.objects.create(
        offer=at.offer, student="ada", question="mlp", item="why", reason="I think it is right."
    )


@pytest.mark.usefixtures("service_database")
def test_every_operation_stands_in_the_table() -> None:
    """Every operation is in the table, with its scope in the OpenAPI document."""
    assert ALLOWED.keys() == operations().keys()
    for name, (method, path) in operations().items():
        assert [{"ProgramKey": [ALLOWED[name][0]]}] == document()["paths"][path][method]["security"]


def test_the_table_holds_for_every_role_and_scope(small_class: Class) -> None:
    """Every role and scope gets the expected status, and each response matches the document."""
    from django.db import transaction

    unexpected = []
    for role in ROLES:
        account = small_class.at.account(role)
        for scope in SCOPES:
            asking = program(account, scope)
            for name, (needed, roles) in ALLOWED.items():
                # The scope is checked before the role, so the highest role is enough to test a wrong scope.
                if scope != needed and role != ROLES[-1]:
                    continue
                method, place = small_class.place(name)
                with transaction.atomic():
                    reply = asking.send(method, place, **small_class.body(name))
                    transaction.set_rollback(True)  # undo changes before the next request
                check_reply(name, reply)
                if role == "nobody":
                    expected = {401}
                elif scope != needed:
                    expected = {403}
                elif role not in roles:
                    expected = {403, 404}
                else:
                    expected = {201} if name == "submit_files" else {200}
                if reply.status not in expected:
                    unexpected.append((role, scope, name, reply))
    assert [] == unexpected


ODD_VALUES = (None, True, -1, 10**30, 1e308, "", "\0", "\ud800", "NaN", "x" * 5_000, [], {}, [[]], {"": None})
ODD_PARTS = ("0", "-1", "99999999999999999999", "%00", "%2e%2e", "%F0%9F%98%80", "x" * 300, "a%0d%0ab")


@pytest.mark.parametrize("operation", ALLOWED)
def test_odd_requests_are_answered_as_described(operation: str, small_class: Class) -> None:
    """Odd values in the body, the query and the address never cause an internal error."""
    from django.db import transaction

    method, path = operations()[operation]
    usual, described = small_class.place(operation)[1], document()["paths"][path][method]
    body = small_class.body(operation).get("body")
    requests: list[tuple[str, Any]] = [
        (path.removeprefix("/api").format(**{**small_class.parts, part: odd}), body)
        for part in small_class.parts
        if f"{{{part}}}" in path
        for odd in ODD_PARTS
    ]
    requests += [
        (f"{usual.partition('?')[0]}?{parameter['name']}={odd}", body)
        for parameter in described.get("parameters", ())
        if parameter["in"] == "query"
        for odd in ODD_PARTS
    ]
    if body is not None:
        requests += [(usual, odd) for odd in ODD_VALUES]
        requests += [(usual, {**body, name: odd}) for name in body for odd in ODD_VALUES]
    for role in ("student", "superuser"):
        asking = program(small_class.at.account(role))
        for place, sent in requests:
            with transaction.atomic():
                reply = asking.send(method, place, sent)
                transaction.set_rollback(True)
            if "%00" in place.partition("?")[0]:  # rejected before the operation is called
                assert (reply.status, reply.kind) == (400, "text/plain")
            else:
                check_reply(operation, reply)
                assert reply.status < 500, (place, sent, reply)
                # A list is not accepted as an object without values.
                assert body is None or isinstance(sent, dict) or reply.status >= 400, (place, sent, reply)


def test_a_key_works_until_it_expires_and_in_its_course(at: Small) -> None:
    """Expired and removed keys and keys of closed accounts are rejected; a key can be limited to a course."""
    from autograder.service.models import ProgramKey

    now, hour = datetime.datetime.now(datetime.UTC), datetime.timedelta(hours=1)
    place = f"/courses/{at.record.slug}/assignments"
    assert 401 == program_of(at, expires_at=now - hour).send("get", place).status
    asking = program_of(at, expires_at=now + hour)
    assert 200 == asking.send("get", place).status
    ProgramKey.objects.filter(account=at.account("student")).update(expires_at=now - hour)
    response = asking.send("get", place)
    assert (401, "Bearer") == (response.status, response.headers["WWW-Authenticate"])

    administrator = at.account("superuser")
    limited = program(administrator, course=at.record)
    assert 200 == limited.send("get", place).status
    assert [at.record.slug] == [record["slug"] for record in limited.send("get", "/courses").data["items"]]
    other = type(at.record).objects.create(slug=f"{at.record.slug}-b", title="B", secret=bytes(32))
    assert [404, 200] == [
        client.send("get", f"/courses/{other.slug}/assignments").status
        for client in (limited, program(administrator))
    ]
    type(administrator).objects.filter(pk=administrator.pk).update(is_active=False)
    assert 401 == limited.send("get", place).status


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Bearer x", "Basic eDp4"])
def test_a_wrong_header_is_refused(at: Small, header: str) -> None:
    """Wrong headers are rejected even for a signed-in user, because cookies are not accepted."""
    reply = at.client("superuser").get("/api/courses", headers={"Authorization": header})
    assert 401 == reply.status_code
    assert "application/problem+json" == reply.headers["Content-Type"]


def test_too_many_requests_are_refused_for_a_minute(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit applies per key, not per user."""
    from autograder.web.rest import access

    monkeypatch.setattr(access, "MOST_REQUESTS", 2)
    moment = SimpleNamespace(now=6_000_000_010.0)
    monkeypatch.setattr(access, "time", SimpleNamespace(time=lambda: moment.now))
    asking = program_of(at)
    replies = [asking.send("get", "/courses") for _ in range(3)]
    assert [200, 200, 429] == [reply.status for reply in replies]
    check_reply("list_own_courses", replies[2])
    assert "50" == replies[2].headers["Retry-After"]
    assert 200 == program_of(at).send("get", "/courses").status
    moment.now += 60
    assert 200 == asking.send("get", "/courses").status


def test_errors_are_problems_in_the_readers_language(at: Small) -> None:
    """Unknown addresses and invalid JSON also return problem documents."""
    asking = program_of(at, "instructor")
    missing = asking.send("get", "/nothing")
    assert (404, "application/problem+json") == (missing.status, missing.kind)
    assert {"type": "about:blank", "title": "Not Found", "status": 404} == {
        name: missing.data[name] for name in ("type", "title", "status")
    }
    place = f"/api/courses/{at.record.slug}/members"
    headers = {"Authorization": f"Bearer {asking.secret}", "Accept-Language": "de"}
    for body, status in (
        ("{", 400),
        ('{"students": []}', 422),
        ('{"students": [{"student": "a\\u0000"}]}', 422),
        ('{"students": [{"student": "a", "first_name": "\\ud800"}]}', 422),
    ):
        from django.test import Client

        reply = Client().post(place, body, content_type="application/json", headers=headers)
        assert (status, "application/problem+json") == (reply.status_code, reply.headers["Content-Type"])
        assert "Anfrage" in json.loads(reply.content)["detail"]


def test_submitting_returns_a_receipt(at: Small) -> None:
    """The receipt is signed and can be downloaded again; a rejection states the reason."""
    asking, place = (
        program_of(at, "student", "submit"),
        f"/courses/{at.record.slug}/assignments/small/attempts",
    )
    files = [SimpleUploadedFile(name, data) for name, data in course.released(at.folder).items()]
    receipt = asking.send("post", place, files=files)
    assert 201 == receipt.status
    identifier = verify_receipt(receipt.content.decode(), course.SIGNER.public)["id"]
    again = program_of(at).send("get", f"/courses/{at.record.slug}/attempts/{identifier}/receipt")
    assert receipt.content == again.content
    refused = asking.send("post", place, files=[])
    assert (400, "Choose a file first.") == (refused.status, refused.data["detail"])


def test_students_see_their_own_work_alone(small_class: Class) -> None:
    """Other students' attempts and unpublished marks look like missing ones."""
    at = small_class.at
    ada, bob, staff = (program_of(at, student="ada"), program_of(at, student="bob"), program_of(at, "ta"))
    base = f"/courses/{at.record.slug}"
    result = f"{base}/assignments/small/results/ada"
    for place in (
        result,
        f"{base}/attempts/{small_class.attempt.pk}",
        f"{base}/attempts/{small_class.attempt.pk}/files/code.ipynb",
        f"{base}/attempts/{small_class.attempt.pk}/readings",
    ):
        assert [200, 404, 200] == [client.send("get", place).status for client in (ada, bob, staff)]
    listed = f"{base}/assignments/small/attempts"
    assert [1, 0, 1] == [client.send("get", listed).data["count"] for client in (ada, bob, staff)]
    assert {""} == {item["staff"] for item in ada.send("get", result).data["items"]}
    type(at.offer).objects.filter(pk=at.offer.pk).update(published_at=None)
    assert [404, 200] == [client.send("get", result).status for client in (ada, staff)]
    type(at.offer).objects.filter(pk=at.offer.pk).update(visible=False)
    assert [0, 1] == [client.send("get", f"{base}/assignments").data["count"] for client in (ada, staff)]
    assert [404, 200] == [
        client.send("get", f"{base}/attempts/{small_class.attempt.pk}").status for client in (ada, staff)
    ]


def test_lists_are_cut_into_pages(at: Small) -> None:
    """Each item is on exactly one page, and every page has the total count."""
    for number in range(3):
        course.handed_in(at.offer, f"s{number}", course.released(at.folder))
    asking = program_of(at, "ta")
    place = f"/courses/{at.record.slug}/assignments/small/attempts"
    pages = [asking.send("get", f"{place}?limit=2&offset={offset}").data for offset in (0, 2, 4)]
    assert [(2, 3), (1, 3), (0, 3)] == [(len(page["items"]), page["count"]) for page in pages]
    assert {"s0", "s1", "s2"} == {item["student"] for page in pages for item in page["items"]}
    only = asking.send("get", f"{place}?student=s1").data
    assert ["s1"] == [item["student"] for item in only["items"]]
    for wrong in ("limit=0", "limit=501", "offset=-1", "offset=99999999999", "student=%00"):
        assert 422 == asking.send("get", f"{place}?{wrong}").status


def test_marks_are_saved_once_for_the_answer_that_was_read(small_class: Class) -> None:
    """Marks for a changed answer and points out of range are rejected."""
    at, answer = small_class.at, small_class.answer
    asking = program_of(at, "ta", "mark")
    method, place = small_class.place("mark_answer")
    marks = {"revision": answer.revision, "items": {"why": "0.50"}, "comment": "Half of it."}
    saved = asking.send(method, place, marks)
    assert (200, {"why": "0.50"}, "Half of it.") == (saved.status, saved.data["items"], saved.data["comment"])
    assert not saved.data["waiting"]
    assert saved.data["marked_by"] == at.account("ta").username
    for change, status in (
        ({}, 409),
        ({"revision": saved.data["revision"], "items": {"why": "7"}}, 422),
        ({"revision": saved.data["revision"], "items": {"other": "1"}}, 422),
        ({"revision": saved.data["revision"], "items": {"why": "NaN"}}, 422),
        ({"revision": saved.data["revision"], "comment": "x" * 5000}, 422),
    ):
        refused = asking.send(method, place, {**marks, **change})
        check_reply("mark_answer", refused)
        assert status == refused.status, change
    answer.refresh_from_db()
    assert saved.data["revision"] == answer.revision


def test_changes_stand_in_the_log(at: Small) -> None:
    """Changes are logged as on the pages, with old and new values; unchanged values are not logged."""
    from autograder.service.models import AuditEntry

    asking = program_of(at, "instructor")
    place = f"/courses/{at.record.slug}/assignments/small"
    assert asking.send("patch", place, {"visible": True, "published": True}).data["published"]
    asking.send("post", f"/courses/{at.record.slug}/members", {"students": [{"student": "eve"}]})
    rows = AuditEntry.objects.filter(course=at.record).order_by("pk")
    who = at.account("instructor").username
    assert [
        (who, "published", False, True),
        (who, "class list", {}, {"eve": ""}),
    ] == list(rows.values_list("who", "action", "before", "after"))
    refused = asking.send("post", f"/courses/{at.record.slug}/members", {"students": [{"student": "../x"}]})
    assert 400 == refused.status


def test_dates_are_replaced_as_on_the_page(at: Small) -> None:
    """Dates are stored in the format of exams.toml, logged, and announced to students; extensions stay."""
    from autograder.service.models import AuditEntry, Member
    from autograder.service.models_results import Event

    Member.objects.create(course=at.record, role="student", student="zoe", account=at.account("stranger"))
    asking = program_of(at, "instructor")
    place = f"/courses/{at.record.slug}/assignments/small"
    assert 200 == asking.send("put", f"{place}/times", TIMES).status
    extended = asking.send("put", f"{place}/extensions/zoe", {"extra_minutes": 30}).data
    shorter = asking.send("put", f"{place}/times", {**TIMES, "end": "2031-05-04T11:00:00"}).data
    assert {name: shorter[name] for name in TIMES} == {**TIMES, "end": "2031-05-04T11:00:00"}
    assert {"zoe": {"start": None, "end": None, "extra_minutes": 30, "late": None}} == shorter["students"]
    assert shorter == asking.send("get", f"{place}/times").data
    assert (TIMES["end"], shorter["students"]) == (extended["end"], extended["students"])
    rows = AuditEntry.objects.filter(course=at.record, action="times").order_by("pk")
    assert ["2031-05-04T12:00:00", "2031-05-04T12:00:00", "2031-05-04T11:00:00"] == [
        row.after["end"] for row in rows
    ]
    assert 3 == Event.objects.filter(offer=at.offer, kind="deadline-changed").count()
    assert {} == asking.send("put", f"{place}/extensions/zoe", {}).data["students"]
    assert asking.send("put", f"{place}/times", {}).data["end"] is None
    at.offer.refresh_from_db()
    assert {} == at.offer.times


@pytest.mark.parametrize(
    ("path", "body", "status", "named"),
    [
        ("times", {"end": "2031-05-04T12:00:00"}, 400, "zone"),
        ("times", {"end": "tomorrow", "zone": "UTC"}, 400, "end"),
        ("times", {**TIMES, "penalty": {"per_day": 10, "per_hour": 1}}, 400, "penalty"),
        ("times", {**TIMES, "penalty": {"per_dya": 10}}, 400, "per_dya"),
        ("times", {**TIMES, "penalty": {"per_day": "\ud800"}}, 422, "penalty"),
        ("times", {**TIMES, "late": "never"}, 422, "late"),
        ("times", {**TIMES, "end": "2031-05-04T09:00:00"}, 400, "start"),
        ("extensions/ada", {"extra_minutes": 30, "end": "2031-05-04T13:00:00"}, 400, "not both"),
        ("extensions/nobody", {"extra_minutes": 30}, 404, ""),
    ],
)
def test_impossible_dates_are_refused(
    at: Small, path: str, body: dict[str, Any], status: int, named: str
) -> None:
    """The response names the key, and nothing is saved."""
    asking, place = program_of(at, "instructor"), f"/courses/{at.record.slug}/assignments/small"
    at.account("student", "ada")
    stored = asking.send("put", f"{place}/times", TIMES).data
    reply = asking.send("put", f"{place}/{path}", body)
    assert (status, True) == (reply.status, named in reply.data["detail"]), reply
    assert stored == asking.send("get", f"{place}/times").data


def test_extensions_need_dates(at: Small) -> None:
    """An assignment without dates cannot be extended."""
    at.account("student", "ada")
    place = f"/courses/{at.record.slug}/assignments/small/extensions/ada"
    reply = program_of(at, "instructor").send("put", place, {"extra_minutes": 30})
    assert (422, True) == (reply.status, "no dates yet" in reply.data["detail"])


def test_requests_are_answered_once(small_class: Class) -> None:
    """Requests are answered by another marker; the answer is in the list, and the item gets the points."""
    from autograder.service.models import CellMark

    at = small_class.at
    marker, other = program_of(at, "ta"), program_of(at, "head-ta")
    marker.send(
        *small_class.place("mark_answer"), {"revision": small_class.answer.revision, "items": {"why": "0"}}
    )
    method, place = small_class.place("answer_request")
    answer = {"text": "So it is.", "points": "0.50"}
    refusal = marker.send(method, place, answer)
    assert (422, True) == (refusal.status, "Somebody else" in refusal.data["detail"]), refusal
    for wrong in ({"points": "7"}, {"text": ""}, {"text": "x" * 5_000}):
        assert 422 == other.send(method, place, {**answer, **wrong}).status
    answered_request = other.send(method, place, answer).data
    assert (False, "So it is.", "0.50") == (
        answered_request["open"],
        answered_request["answer"],
        answered_request["points_after"],
    )
    assert at.account("head-ta").username == answered_request["answered_by"]
    assert 422 == other.send(method, place, answer).status
    listed = marker.send(*small_class.place("list_requests")).data
    assert [answered_request] == listed["items"]
    assert "0.50" == CellMark.objects.get(pk=small_class.answer.pk).points


def test_the_document_is_served(at: Small) -> None:
    """The OpenAPI 3.1 document is public and contains nothing of the service's data."""
    reply = Program().send("get", "/openapi.json")
    assert (200, "3.1.0") == (reply.status, reply.data["openapi"])
    assert json.loads(json.dumps(document())) == reply.data
    assert at.record.slug not in reply.content.decode()


def test_generators_of_clients_recognise_files() -> None:
    """Client generators need the format of a file, although OpenAPI 3.1 uses the media type instead."""
    operations = [operation for path in document()["paths"].values() for operation in path.values()]
    sent = [
        operation["requestBody"]["content"]["multipart/form-data"]["schema"]["properties"]["files"]["items"]
        for operation in operations
        if "multipart/form-data" in operation.get("requestBody", {}).get("content", {})
    ]
    received = [
        content["schema"]
        for operation in operations
        for content in next(iter(operation["responses"].values())).get("content", {}).values()
        if "contentMediaType" in content["schema"]
    ]
    assert (1, 4) == (len(sent), len(received))
    assert {"binary"} == {schema["format"] for schema in (*sent, *received)}


def test_a_key_is_made_with_scopes_on_the_account_page(at: Small) -> None:
    """The form sets course and expiry; a key without scopes is not created."""
    from autograder.service.models import ProgramKey

    client, account = at.client("ta"), at.account("ta")
    keys = ProgramKey.objects.filter(account=account)
    fields = {"label": "sync", "scopes": ["read", "mark"], "course": at.record.slug, "days": "30"}
    page = client.post("/app/keys/", fields).content.decode()
    secret = page.partition("<code>")[2].partition("</code>")[0].partition("#")[2]
    [key] = keys
    assert ("mark read", at.record) == (" ".join(sorted(key.scopes.split())), key.course)
    assert 29 <= (key.expires_at.timestamp() - time.time()) / 86400 <= 30
    assert 200 == Program(secret).send("get", "/courses").status
    for wrong in ({"scopes": []}, {"scopes": ["all"]}, {"course": "course-0"}, {"days": "0"}, {"label": ""}):
        assert "was not created" in client.post("/app/keys/", {**fields, **wrong}).content.decode()
    assert 1 == keys.count()
