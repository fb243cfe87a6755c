"""Pages of the markers' bench: permissions, and escaped results."""

from __future__ import annotations

import html
import re
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from autograder.service.bench import MOST_SOURCE, Bench, BenchStatus
from autograder.service.postgres import EmbeddedPostgres
from tests.service import course
from tests.web.people import Small

if TYPE_CHECKING:
    from django.test import Client

    from autograder.service.models import Attempt

pytestmark = pytest.mark.sandbox
CODE = """\
def double(value):
    return 2 * value

class Marked:
    def __repr__(self): return "<script>alert(1)</script><img src=x onerror=alert(2)>\\x1b[31m\\x00\\u202e"

def loud():
    print("<b>loud</b>\\x07")
    raise ValueError("<i>text</i>\\x1b]0;title\\x07")
"""


@pytest.fixture(scope="module")
def bench(service_database: EmbeddedPostgres) -> Iterator[Bench]:
    """Provide a bench and configure the pages to use it."""
    from django.conf import settings
    from django.test import override_settings

    with (
        Bench(per_minute=1000) as new_bench,
        override_settings(RUNNING=replace(settings.RUNNING, bench=new_bench)),
    ):
        yield new_bench


@pytest.fixture
def attempt(at: Small) -> Attempt:
    """Return an attempt of a student with an ID that does not occur in other texts."""
    return course.handed_in(at.offer, "zq-lovelace", course.answered(at.folder, softmax_answer=CODE))


def place(at: Small, attempt: Attempt) -> str:
    """Return the address of an attempt's bench."""
    return f"{at.base}staff/a/{at.offer.assignment}/bench/{attempt.pk}"


def ready(bench: Bench, attempt: Attempt, notebook: str = "code") -> None:
    """Wait until the notebook is ready."""
    until = time.monotonic() + 300
    while bench.open_notebook(attempt, notebook).standing is not BenchStatus.READY:
        assert time.monotonic() < until
        time.sleep(0.02)


def sent(client: Client, at: Small, attempt: Attempt, source: str, **headers: str) -> str:
    """Submit an input and return the response."""
    fields = {"source": source, "notebook": "code"}
    answer = client.post(place(at, attempt), fields, headers=headers)
    assert 200 == answer.status_code
    return answer.content.decode()


def shown(page: str) -> list[str]:
    """Return the texts of all code blocks of a page."""
    return [
        html.unescape(re.sub("<[^>]*>", "", block)) for block in re.findall(r"<pre.*?</pre>", page, re.DOTALL)
    ]


def test_an_input_is_answered_without_scripts(bench: Bench, at: Small, attempt: Attempt) -> None:
    """Without JavaScript, the page shows the form with the input, its result and earlier results."""
    client = at.client("ta")
    first = client.get(place(at, attempt) + "?notebook=code").content.decode()
    assert 'name="source"' in first
    assert "<h1>" in first
    ready(bench, attempt)
    sent(client, at, attempt, "double(3)")
    page = sent(client, at, attempt, "double(4)")
    assert ["double(4)", "8", "double(3)", "6"] == shown(page)
    assert "\ndouble(4)</textarea>" in page
    assert "zq-lovelace" not in first + page


def test_htmx_gets_parts(bench: Bench, at: Small, attempt: Attempt) -> None:
    """htmx requests get the bench or only the results."""
    client = at.client("ta")
    part = client.get(place(at, attempt) + "?notebook=code", headers={"HX-Request": "true"}).content.decode()
    assert part.lstrip().startswith('<section id="bench"')
    assert "<html" not in part
    ready(bench, attempt)
    tries = sent(client, at, attempt, "double(3)", **{"HX-Request": "true"})
    assert ["double(3)", "6"] == shown(tries)
    assert "<form" not in tries
    again = client.get(place(at, attempt) + "/tries?notebook=code").content.decode()
    assert ["double(3)", "6"] == shown(again)


def test_while_it_is_made_ready_the_page_asks_again(bench: Bench, at: Small, attempt: Attempt) -> None:
    """The page polls until the notebook is ready."""
    client = at.client("ta")
    asking = 'hx-trigger="load delay:700ms"'
    assert asking in client.get(place(at, attempt) + "?notebook=code").content.decode()
    ready(bench, attempt)
    assert asking not in client.get(place(at, attempt) + "/tries?notebook=code").content.decode()


def test_what_a_box_says_is_text(bench: Bench, at: Small, attempt: Attempt) -> None:
    """Values, output, exceptions and inputs are escaped, without control characters."""
    client = at.client("ta")
    client.get(place(at, attempt) + "?notebook=code")
    ready(bench, attempt)
    page = sent(client, at, attempt, "Marked()") + sent(client, at, attempt, "loud() or '</pre><u>'")
    for tag in ("<script>alert", "<img", "<b>loud", "<i>text", "<u>", "</pre><u"):
        assert tag not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202e]", page)
    texts = shown(page)
    assert any("<script>alert(1)</script>" in output for output in texts)
    assert any("<b>loud</b>" in output for output in texts)
    assert any(output.startswith("ValueError: <i>text</i>") for output in texts)


def test_inputs_that_are_none_are_refused(bench: Bench, at: Small, attempt: Attempt) -> None:
    """Empty and too long inputs are rejected and not run."""
    client = at.client("ta")
    assert "Enter an input first." in sent(client, at, attempt, "  ")
    assert "The input is too long: 2001 characters" in sent(client, at, attempt, "1" * (MOST_SOURCE + 1))
    assert () == bench.list_last_tries(attempt, who=str(at.account("ta").pk), notebook="code")  # type: ignore[union-attr]


def test_only_attempts_at_this_assignment_are_found(bench: Bench, at: Small, attempt: Attempt) -> None:
    """Attempts of other courses, and unknown attempts and notebooks, are not found."""
    from autograder.service.models import CourseRecord, Member

    client = at.client("ta")
    assert 404 == client.get(f"{at.base}staff/a/{at.offer.assignment}/bench/{uuid.uuid4()}").status_code
    assert 404 == client.get(f"{at.base}staff/a/other/bench/{attempt.pk}").status_code
    assert 404 == client.get(place(at, attempt) + "?notebook=../x").status_code
    slug = f"other-{uuid.uuid4().hex[:8]}"
    other = CourseRecord.objects.create(slug=slug, title="Other", secret=at.record.secret)
    Member.objects.create(course=other, account=at.account("ta"), role="ta")
    theirs = course.offered(other, at.folder)
    wrong = f"/app/c/{other.slug}/staff/a/{theirs.assignment}/bench/{attempt.pk}"
    assert (404, 404) == (client.get(wrong).status_code, client.post(wrong, {"source": "1"}).status_code)
    assert 403 == at.client("student").post(place(at, attempt), {"source": "1"}).status_code


def test_a_notebook_that_cannot_be_run_says_so(bench: Bench, at: Small) -> None:
    """The page shows the reason without the student's ID."""
    attempt = course.handed_in(at.offer, "zq-broken", {"code.ipynb": b"<html>"})
    client = at.client("ta")
    client.get(place(at, attempt) + "?notebook=code")
    until = time.monotonic() + 300
    while bench.open_notebook(attempt, "code").standing is not BenchStatus.FAILED:
        assert time.monotonic() < until
        time.sleep(0.02)
    page = sent(client, at, attempt, "1")
    assert "Nothing can be tried: " in page
    assert "zq-broken" not in page


def test_a_forged_form_is_refused(bench: Bench, at: Small, attempt: Attempt) -> None:
    """A form without a CSRF token is rejected."""
    client = at.client("ta", enforce_csrf_checks=True)
    assert 403 == client.post(place(at, attempt), {"source": "1"}).status_code


def test_without_a_bench_the_page_says_so(at: Small, attempt: Attempt) -> None:
    """If the service has no bench, the page says that it is not available."""
    from django.conf import settings
    from django.test import override_settings

    with override_settings(RUNNING=replace(settings.RUNNING, bench=None)):
        client = at.client("ta")
        assert "is not available" in client.get(place(at, attempt)).content.decode()
        assert "is not available" in sent(client, at, attempt, "1")
