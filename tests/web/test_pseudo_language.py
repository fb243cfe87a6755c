"""Every page in a pseudo-language, so that sentences missing in the catalogue are found."""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from autograder.core.wording import encode_phrase
from autograder.messages import build_localised_text, catalogue
from tests.messages import pseudo
from tests.service import told
from tests.support import small_course
from tests.web.people import Small
from tests.web.test_matrix import ALLOWED, _keys, drafted, routes, tried
from tests.web.test_similar_page import class_of, compared

# Django does not know invented languages, so this one replaces German.
LANGUAGE = "de"
BY = ("superuser", "student", "instructor")
"""Roles that read a page; the first one with access is used."""
NOT_HERE = {"lti-connect": "begins at a learning platform; see test_lti.py"}
TITLES = r'(?:en = |title=)"([^"]*)"'
DATA = (
    *(
        "nbexam",
        "English",
        "Deutsch",
        "ipynb",
        "coursecheck",
        "function",
        "softplus",
        "Europe/Berlin",
        "UTC",
        "https",
        "example",
        "org",
        "events",
        "zip",
    ),
    *("ada", "bob", "cem", "dia", "eva", "fay", "zoe", "Lovelace", "red", "norms", "Maths", "autograder"),
    *("min", "code", "formulas", "small", "mlp", "why", "softmax", "student", "instructor", "draft"),
)
"""Names and IDs of the class, and words that are the same in every language."""


@pytest.fixture(scope="module")
def locale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of translations with the pseudo-language in place of German."""
    folder = tmp_path_factory.mktemp("locale")
    pseudo.write(folder, LANGUAGE)
    return folder


@pytest.fixture
def full(at: Small, locale: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Create a class with content on every page, and return the parameters of the addresses."""
    from django.utils import timezone

    from autograder.service import audit, program_keys
    from autograder.service.marking import answers, mark_entry, regrade_requests
    from autograder.service.models import CellMark, CellPlace, Member, Scope
    from autograder.service.models_results import Webhook
    from autograder.service.refusals import RequestRefused

    monkeypatch.setattr(catalogue, "LOCALE", locale)
    instructor, rubric = at.account("instructor"), told.RUBRIC
    for who in ("cem", "zoe"):
        Member.objects.create(course=at.record, role="student", student=who, last_name="Lovelace")
    class_of(at)
    compared(at)
    lost = told.told("mlp", "formula", told.UNKNOWN, "1"), told.told("places", "scored", told.UNKNOWN)
    for who in ("ada", "bob"):
        attempt = told.graded(at.offer, at.folder, who, *lost)
    at.offer.groups = {"red": ["cem", "dia"]}
    at.offer.times = {
        "start": "2026-02-12T10:00:00",
        "end": "2031-02-03T10:00:00",
        "zone": "Europe/Berlin",
        "late": "penalty",
        "penalty": {"steps": [{"after_hours": 0, "take": "5"}], "unit": "percent"},
        "slip_days": {"days": 5, "most": 2, "place": 0},
        "students": {"bob": {"extra_minutes": 30}},
    }
    told.published(at.offer)
    problem = encode_phrase(build_localised_text("web.job-stopped"))
    at.offer.attempts.filter(student="eva").update(state="failed", problem=problem)
    question = rubric.get_question("mlp")
    request = regrade_requests.make_request(at.offer, "bob", question, question.get_item("formula"), "norms")
    row = CellMark.objects.get(place__course=at.record, place__cell="mlp-why", student="ada")
    cell = answers.find_cell(rubric, "formulas", "mlp-why")
    assert cell is not None
    marks = mark_entry.GivenMarks({"why": Decimal("0.5")}, "norms", flagged=True)
    mark_entry.save_marks({row.pk: row.revision}, cell, marks, instructor)
    draft, trial = drafted(at), tried(at)
    type(draft).objects.filter(pk=draft.pk).update(
        git_address="draft", git_folder="draft", git_commit="draft"
    )
    Webhook.objects.create(
        course=at.record,
        address="https://example.org/events",
        problem=encode_phrase(RequestRefused("webhook-status", status=500).text),
    )
    program_keys.create_key(instructor, "norms", [Scope.READ], course=at.record, expires_at=timezone.now())
    who, record = instructor.username, at.record
    audit.record_action(who, "times", "small", course=record, before={}, after=at.offer.times)
    audit.record_action(who, "add member", "ada", course=record, after={"role": "student", "student": "ada"})
    counts = {"reason": "norms", "submitted": "2026-02-12T10:00:00+00:00", "counts": True}
    audit.record_action(who, "upload attempt", "small: ada 2", course=record, after=counts)
    audit.record_action(who, "mark sheet", "small", course=record, after={"ada: mlp-why": "0.5"})
    audit.record_action(
        who, "collect", "small", course=record, after={"students": ["ada"], "archive": "x.zip"}
    )
    audit.record_action(who, "erase", "red", course=record, after={audit.REDACTED: {"1": "0" * 64}})
    audit.verify_log(who, record)
    return {
        "slug": record.slug,
        "assignment": at.offer.assignment,
        "number": 1,
        "name": "code.ipynb",
        "who": "ada",
        "identifier": attempt.pk,
        "member": Member.objects.get(course=record, student="cem").pk,
        "kind": "account",
        "person": at.account("student").pk,
        "place": row.place_id,
        "written": CellPlace.objects.get(course=record, cell="thoughts").pk,
        "answer": row.pk,
        "trial": trial.pk,
        "draft": draft.pk,
        "request": request.pk,
    }


def find_reader(name: str) -> str | None:
    """Return the role that reads a route's page, or None if it has none."""
    roles, methods = ALLOWED[name]
    if "GET" not in methods.split() or name in NOT_HERE:
        return None
    return next(role for role in BY if role in roles)


PAGES = {name: reader for name in ALLOWED if (reader := find_reader(name))}


def read(at: Small, page: str) -> str:
    """Return the words of a page without the texts of the course."""
    from autograder.service.models import CourseRecord

    text = pseudo.read(page)
    texts = [
        # Administrators also see the courses of other tests.
        *(name for course in CourseRecord.objects.values_list("title", "slug") for name in course),
        at.offer.title,
        "for <b>staff</b>",
        "Because",
        *re.findall(TITLES, f"{small_course.RUBRIC} {small_course.CHECKS}"),
    ]
    texts += [f"{at.record.slug}-{role}" for role in BY]
    for original in sorted({*texts}, key=len, reverse=True):
        # Whole words only, because another test's course may be called "B".
        text = re.sub(rf"(?<!\w){re.escape(original)}(?!\w)", " ", text)
    # Remove digests, some of which consist of letters only.
    return re.sub(r"[0-9a-f]{32,}|[0-9a-f]{12}…", " ", text)


def test_every_page_speaks_it(at: Small, full: dict[str, Any]) -> None:
    """Texts, titles and labels of all pages are translated."""
    ids = re.findall(r'\b(?:id|kind|code|name|answer) = "([^"]*)"', small_course.RUBRIC)
    data_words = frozenset(word for name in (*DATA, *ids) for word in re.findall(r"[A-Za-z]+", name))
    clients = {role: at.client(role, headers={"accept-language": LANGUAGE}) for role in set(PAGES.values())}
    seen, left = set(), []
    for name, reader in PAGES.items():
        parts = {**full, "number": full["request"] if name == "request" else full["number"]}
        if name == "mark-edit-items":
            parts["place"] = full["written"]
        place = reverse(name, kwargs={key: parts[key] for key in _keys(name)})
        with contextlib.closing(clients[reader].get(place, follow=True)) as answer:
            assert 200 == answer.status_code, name
            if "text/html" not in answer.headers["Content-Type"]:
                continue
            words = pseudo.english(read(at, answer.content.decode()), data_words)
        seen.add(name)
        if words:
            left.append(name)
            print(name, *words)
    assert [] == left
    assert len(seen) > 40
    assert {name for name, _ in routes()} > seen
