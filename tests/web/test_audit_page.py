"""The audit log page: readable values, manual marks, and the verification of the hash chain."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from autograder.grading.assignment import Assignment
from tests.service import course
from tests.service.room import Room, room_of
from tests.web.people import Small
from tests.web.test_student import text

TIMES = {
    "start": "2026-02-12T10:00:00",
    "end": "2026-02-12T11:30:00+00:00",
    "zone": "Europe/Berlin",
    "late": "refuse",
    "students": {"ada": {"extra_minutes": 30}},
}


@pytest.mark.parametrize(
    ("action", "value", "english", "german"),
    [
        (
            "times",
            TIMES,
            "Start: 2026-02-12 10:00 (Europe/Berlin), Deadline: 2026-02-12 12:30 (Europe/Berlin), Time zone: "
            "Europe/Berlin, Late submissions: do not count, Students: (ada: (Extra minutes: 30))",
            "Beginn: 12.02.2026, 10:00 Uhr (Europe/Berlin), Abgabefrist: 12.02.2026, 12:30 Uhr "
            "(Europe/Berlin), Zeitzone: Europe/Berlin, Verspätete Abgaben: zählen nicht, Studierende: (ada: "
            "(Zusätzliche Minuten: 30))",
        ),
        ("add member", {"role": "head-ta"}, "Role: head TA", "Rolle: "),
        ("published", True, ">yes<", ">ja<"),
        ("mark sheet", {"ada: why": "0.50", "bob: why": None}, "ada: why: 0.5, bob: why: –", "ada: why: 0,5"),
        ("upload draft", "0123456789ab" + "c" * 52, ">0123456789ab…<", ">0123456789ab…<"),
        ("create course", "1.50", ">1.50<", ">1.50<"),
    ],
)
def test_values_are_read_in_the_readers_language(
    at: Small, action: str, value: Any, english: str, german: str
) -> None:
    """Codes are translated, times use the course's time zone, and other texts are unchanged."""
    from autograder.service import audit

    at.offer.times = TIMES
    at.offer.save()
    audit.record_action("prof", action, "small", course=at.record, after=value)
    log = f"{at.base}staff/audit/"
    assert english in text(at.client("instructor").get(log))
    assert german in text(at.client("instructor", headers={"accept-language": "de"}).get(log))


@pytest.fixture
def room(service_course: Any, essays_loaded: Assignment) -> Room:
    """Return the class of essays."""
    return room_of(service_course, essays_loaded)


def test_marks_given_by_hand_are_listed(room: Room) -> None:
    """The page and the file show who changed which mark, and can be filtered by student."""
    from autograder.service.marking import mark_entry

    at = Small(room.offer.course, room.offer, room.assignment.course.root)
    slug, client = at.record.slug, at.client("instructor")
    log = f"{at.base}staff/audit/"
    room.save("ada", "ta", items={"claim": "1", "reason": "0.5"})
    room.save("ada", "head", items={"claim": "0", "reason": "0.5"}, comment="Look <b>again</b>.")
    room.save("ben", "ta", items={"claim": "1", "reason": "0"})
    mark_entry.undo_action(at.record.pk, room.offer.assignment, room.account("ta"))
    page = text(client.get(log, {"about": "ADA"}))
    assert "2 entries" in page
    assert f"{slug}-head" in page
    assert f"{room.offer.assignment}: ada: scale" in page
    assert "Points: 1.5, Items: (claim: 1, reason: 0.5), Comment for the student: –<" in page
    assert "Points: 0.5, Items: (claim: 0, reason: 0.5), Comment for the student: Look &lt;b&gt;again" in page
    assert "ben" not in page.partition("<table")[2].partition("</table>")[0]
    assert "Undone: " in text(client.get(log, {"about": "ben"}))
    assert "No entry matches" in text(client.get(log, {"about": "cem"}))
    assert "1 entry" in text(client.get(log, {"about": "ada", "who": "-head", "action": "mark"}))
    rows = list(csv.DictReader(io.StringIO(client.get(f"{log}log.csv").content.decode())))
    assert [f"{slug}-{name}" for name in ("ta", "head", "ta")] == [row["user"] for row in rows]
    assert '"points": "0.5"' in rows[1]["after"]


def test_a_students_attempts_lead_to_the_log(at: Small) -> None:
    """The link is shown to users who can read the log."""
    course.handed_in(at.offer, "ada", course.released(at.folder))
    page, link = f"{at.base}staff/a/small/attempts/of/ada/", f'{at.base}staff/audit/?about=ada"'
    assert [True, False] == [link in text(at.client(role).get(page)) for role in ("instructor", "ta")]


def test_an_erased_student_is_not_named(room: Room) -> None:
    """The marker's action stays, without the student."""
    at = Small(room.offer.course, room.offer, room.assignment.course.root)
    saved = room.save("ada", "ta", items={"claim": "1", "reason": "0.5"})
    saved.delete()
    page = text(at.client("instructor").get(f"{at.base}staff/audit/"))
    assert f">{room.offer.assignment}: –<" in page


def test_the_chain_is_verified_on_demand(at: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page shows time and result of the verification, and does not verify on its own."""
    from autograder.service import audit

    client, log = at.client("instructor"), f"{at.base}staff/audit/"
    with monkeypatch.context() as patch:
        patch.setattr(audit, "find_verification", lambda: None)
        assert "has not been verified yet" in text(client.get(log))
    for broken, message in ((0, "chain of the log was intact"), (7, "breaks at entry 7")):
        with monkeypatch.context() as patch:
            patch.setattr(audit, "find_broken_entry", lambda entry=broken: entry)
            shown = text(client.post(f"{log}verify", follow=True))
        assert "Last verified on " in shown
        assert message in shown
        monkeypatch.setattr(audit, "find_broken_entry", lambda: pytest.fail("verified by a look"))
        assert message in text(client.get(log))
