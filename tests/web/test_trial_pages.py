"""Trials on the pages: instructors see whose marks change, and apply or drop a trial with one key."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from autograder.web.site import FOLDER
from tests.service import course
from tests.web.people import Small
from tests.web.test_staff import entries
from tests.web.test_student import text

HOSTILE = "</textarea><script>alert(1)</script>'&"
LAYERS = course.worth("layers", "number", "2.5")


def tried(at: Small, *edits: Any) -> Any:
    """Return a trial of an edited rubric with canned results for the class."""
    trial = course.tried(at.offer, at.folder, at.account("instructor"), *(edits or (LAYERS,)))
    course.graded_without_a_box(at.offer)
    return trial


def address(at: Small, trial: Any) -> str:
    """Return the address of a trial's page."""
    return f"{at.base}staff/trials/{trial.pk}/"


@pytest.fixture
def two(at: Small) -> Small:
    """Return the course with results of two students."""
    for student in ("ada", "bob"):
        course.handed_in(at.offer, student, course.released(at.folder))
    course.graded_without_a_box(at.offer)
    return at


def test_from_the_folder_to_what_counts(two: Small, tmp_path: Path) -> None:
    """The page lists changed marks; an instructor can apply the trial, a head TA cannot; all is logged."""
    folder = Path(shutil.copytree(two.folder, tmp_path / "course"))
    settings.RUNNING.folders[two.record.slug] = folder
    rubric = folder / "rubrics" / "small.toml"
    rubric.write_text(LAYERS(rubric.read_text()).replace("How many layers there are", "How many?"))
    head, leader, staff = two.client("head-ta"), two.client("instructor"), f"{two.base}staff/a/small/"
    answer = leader.post(f"{staff}update", follow=True)
    content, place = text(answer), answer.redirect_chain[-1][0]
    assert "It is first tried on the whole class" in content
    assert "0 of 2 graded with the new version" in content
    assert 'hx-trigger="load delay:2s"' in content
    assert "2 students are still being graded." in content
    assert "Version 2 is being tried" in text(head.get(staff))
    assert "Version 2 is being tried" not in text(two.client("ta").get(staff))
    course.graded_without_a_box(two.offer)
    assert "true" == head.get(f"{place}progress")["HX-Refresh"]
    content = text(head.get(place))
    assert "Marks change for 2 students." in content
    assert ">+1.5</td>" in content
    assert "How many?" in content
    assert "hx-get" not in content
    assert "data-key" not in content
    content = text(leader.get(place))
    assert 'accesskey="a" data-key="a"' in content
    assert 'accesskey="d" data-key="d"' in content
    assert [403, 403] == [head.post(f"{place}{action}").status_code for action in ("apply", "drop")]
    assert "Version 2 is in use now" in text(leader.post(f"{place}apply", follow=True))
    assert "already" in text(leader.post(f"{place}apply", follow=True))
    content = text(head.get(staff)) + text(head.get(f"{staff}submissions/"))
    assert "2.5 of 14.5" in content
    assert "being tried" not in content
    assert [("try version", 1, 2), ("apply version", 1, 2)] == entries(two)
    assert "version applied" in text(leader.get(f"{two.base}staff/audit/"))


def test_what_is_dropped_changes_nothing(two: Small) -> None:
    """The offered version stays in use."""
    place, leader = address(two, tried(two)), two.client("instructor")
    assert "Nothing has changed." in text(leader.post(f"{place}drop", follow=True))
    assert "1 of 13" in text(two.client("ta").get(f"{two.base}staff/a/small/submissions/"))
    assert "already dropped" in text(leader.post(f"{place}apply", follow=True))


def test_texts_are_shown_as_they_are(two: Small) -> None:
    """Markup in a rubric's text is escaped."""
    trial = tried(two, lambda text: text.replace("How many layers there are", HOSTILE))
    content = text(two.client("instructor").get(address(two, trial)))
    assert "alert(1)" in content
    assert "<script>alert" not in content
    assert "style=" not in content


def test_a_trial_of_another_course_is_not_there(two: Small) -> None:
    """Trials of other courses are not found, and TAs and students cannot access trials."""
    from autograder.service.models import CourseRecord

    trial = tried(two)
    other = CourseRecord.objects.create(slug=f"{two.record.slug}-other", title="Other", secret=b"s" * 32)
    client = Small(other, two.offer, two.folder).client("instructor")
    for role, status in (("ta", 403), ("student", 403), ("stranger", 404)):
        assert status == two.client(role).get(address(two, trial)).status_code
    for name in ("", "progress"):
        assert 404 == client.get(f"/app/c/{other.slug}/staff/trials/{trial.pk}/{name}").status_code
    for name in ("apply", "drop", "again"):
        assert 404 == client.post(f"/app/c/{other.slug}/staff/trials/{trial.pk}/{name}").status_code
    trial.refresh_from_db()
    assert "" == trial.settled


def test_a_stale_trial_can_only_be_dropped(two: Small) -> None:
    """If another version is in use now, the page has no button to apply the trial."""
    from autograder.service.models import VersionTrial

    trial = tried(two)
    other = VersionTrial.objects.create(offer=two.offer, version=two.offer.version, base=trial.version)
    leader = two.client("instructor")
    content = text(leader.get(address(two, other)))
    assert "Another version has come into use" in content
    assert ('data-key="a"' in content, 'data-key="d"' in content) == (False, True)
    assert "another version has come into use" in text(
        leader.post(f"{address(two, other)}apply", follow=True)
    )


def test_the_script_is_a_file_with_a_nonce(two: Small) -> None:
    """The script is a static file that presses buttons and writes nothing into the page."""
    content = text(two.client("instructor").get(address(two, tried(two))))
    assert re.search(r'<script nonce="[^"]+" src="/static/keys.js" defer></script>', content)
    script = (FOLDER / "static" / "keys.js").read_text()
    assert "data-key" in script
    assert "innerHTML" not in script
