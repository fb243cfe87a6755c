"""An instructor's path through the pages in a real browser, and users invited by the instructor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.web.browser.reader import Reader
from tests.web.people import PASSWORD, Small
from tests.web.test_staff import graded

pytestmark = pytest.mark.apart

CLASS = "id,first_name,last_name,email\nada,Ada,Lovelace,ada@example.org\nbob,Bob,,\n"


def takes_a_class_over(one: Reader, folder: Path) -> None:
    """Import a class list from a file, and check that a wrong one is rejected."""
    listed = folder / "roster.csv"
    listed.write_text(CLASS, encoding="utf-8")
    one.follow("Members")
    one.page.set_input_files("#list", listed)
    one.press("Import")
    assert "The list has 2 students; added or changed: 2." in one.text()
    assert "Lovelace" in one.text()
    listed.write_text("name\nada\n", encoding="utf-8")
    one.page.locator("#import > summary").click()
    one.page.set_input_files("#list", listed)
    one.press("Import")
    assert "The class list was not imported" in one.text()


def sets_times(one: Reader) -> None:
    """Set dates and an extension, and check that an unknown student is rejected."""
    for name, value in (("start", "2025-02-03T10:00"), ("end", "2025-02-03T12:00")):
        one.page.locator(f"#{name}").fill(value)
    one.page.locator("#zone").fill("Europe/Berlin")
    one.page.locator("#late").select_option("accept")
    one.press("Save dates")
    assert "2025-02-03T12:00" == one.page.locator("#end").input_value()
    assert "accept" == one.page.locator("#late").input_value()
    for student, minutes in (("eve", "5"), ("bob", "30")):
        one.page.locator("#own-student").fill(student)
        one.page.locator("#extra").fill(minutes)
        one.press("Save extension")
        assert ("is neither a student on the class list nor a group" in one.text()) is (student == "eve")
        if student == "eve":  # the input is kept
            assert minutes == one.page.locator("#extra").input_value()
    row = one.page.locator("#extensions tr", has_text="bob").inner_text()
    assert "30" in row


def joins(one: Reader, link: str, name: str) -> None:
    """Create an account with a link, and check that a weak password is rejected."""
    one.goto(link)
    for password in ("12345678", PASSWORD):
        one.page.locator("#id_username").fill(name)
        one.page.locator("#id_password1").fill(password)
        one.page.locator("#id_password2").fill(password)
        one.press("Create account")
        if password != PASSWORD:
            assert one.page.get_by_role("alert").first.is_visible()


def test_a_course_is_run(at: Small, reader: Callable[..., Reader], tmp_path: Path) -> None:
    """A course is run from the class list to published marks and the audit log."""
    at.offer.visible = False
    at.offer.save()
    one = reader()
    one.signs_in(at, "instructor")
    assert f"{at.base}staff/" in one.page.url  # their only course
    assert "Hidden from students" in one.text()
    takes_a_class_over(one, tmp_path)
    one.follow(at.record.title)
    one.follow(at.offer.title)
    one.press("Show to students")
    assert "Visible to students" in one.text()
    one.follow("Change dates")
    sets_times(one)

    graded(at, "ada")
    one.follow(at.record.title)
    assert "1 of 1 attempts graded" in one.text()
    graded(at, "bob")
    one.page.get_by_text("2 of 2 attempts graded").wait_for()  # the page updates on its own
    one.follow(at.offer.title)
    one.follow("Submissions")
    one.follow("Lovelace, Ada")
    assert "of 13" in one.page.frame_locator("iframe.made").locator("body").inner_text()
    one.follow(at.offer.title)
    one.page.locator("summary", has_text="Publish marks").click()
    assert "16 answers await marking." in one.text()
    one.press("Publish incomplete marks")
    assert "Marks have been published since" in one.text()
    one.press("Unpublish marks")
    assert "Marks are not published" in one.text()
    one.follow(at.record.title)
    one.follow("Audit log")
    one.press("Verify now")
    told = one.text()
    assert "The hash chain of the log was intact." in told
    for action in ("class list imported", "visible to students", "dates changed", "marks published"):
        assert action in told
    one.looks("staff-audit")


def test_somebody_invited_joins(at: Small, reader: Callable[..., Reader]) -> None:
    """A student and a TA each join by a link that is shown and accepted once."""
    from autograder.service.models import Member

    Member.objects.create(course=at.record, role="student", student="ada")
    one = reader()
    one.is_known(at, "instructor")
    one.goto(f"{at.base}staff/members/?q=ada")
    one.page.get_by_role("link", name="ada").click()
    one.press("Invite")
    student = one.page.locator("main code").inner_text()
    one.goto(f"{at.base}staff/members/")
    one.page.locator("#add-member > summary").click()
    one.page.locator("#id_last_name").fill("Tim")
    one.page.locator("#id_role").select_option("ta")
    one.press("Add")
    helper = one.page.locator("main code").inner_text()
    assert student != helper
    for link, who, place in ((student, "ada", at.base), (helper, "tim", f"{at.base}staff/")):
        other = reader()
        joins(other, link, f"{who}-{at.record.slug}")
        assert other.page.url.endswith(place)
        assert at.offer.title in other.text()
        third = reader()
        third.goto(link, 404)
        assert "This link was already used" in third.text()
