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


def takes_a_class_over(visitor: Reader, folder: Path) -> None:
    """Import a class list from a file, and check that a wrong one is rejected."""
    listed = folder / "roster.csv"
    listed.write_text(CLASS, encoding="utf-8")
    visitor.follow("Members")
    visitor.page.set_input_files("#list", listed)
    visitor.press("Import")
    assert "The list has 2 students; added or changed: 2." in visitor.text()
    assert "Lovelace" in visitor.text()
    listed.write_text("name\nada\n", encoding="utf-8")
    visitor.page.locator("#import > summary").click()
    visitor.page.set_input_files("#list", listed)
    visitor.press("Import")
    assert "The class list was not imported" in visitor.text()


def sets_times(visitor: Reader) -> None:
    """Set dates and an extension, and check that an unknown student is rejected."""
    for name, value in (("start", "2025-02-03T10:00"), ("end", "2025-02-03T12:00")):
        visitor.page.locator(f"#{name}").fill(value)
    visitor.page.locator("#zone").fill("Europe/Berlin")
    visitor.page.locator("#late").select_option("accept")
    visitor.press("Save dates")
    assert "2025-02-03T12:00" == visitor.page.locator("#end").input_value()
    assert "accept" == visitor.page.locator("#late").input_value()
    for student, minutes in (("eve", "5"), ("bob", "30")):
        visitor.page.locator("#own-student").fill(student)
        visitor.page.locator("#extra").fill(minutes)
        visitor.press("Save extension")
        assert ("is neither a student on the class list nor a group" in visitor.text()) is (student == "eve")
        if student == "eve":  # the input is kept
            assert minutes == visitor.page.locator("#extra").input_value()
    row = visitor.page.locator("#extensions tr", has_text="bob").inner_text()
    assert "30" in row


def joins(visitor: Reader, link: str, name: str) -> None:
    """Create an account with a link, and check that a weak password is rejected."""
    visitor.goto(link)
    for password in ("12345678", PASSWORD):
        visitor.page.locator("#id_username").fill(name)
        visitor.page.locator("#id_password1").fill(password)
        visitor.page.locator("#id_password2").fill(password)
        visitor.press("Create account")
        if password != PASSWORD:
            assert visitor.page.get_by_role("alert").first.is_visible()


def test_a_course_is_run(at: Small, reader: Callable[..., Reader], tmp_path: Path) -> None:
    """A course is run from the class list to published marks and the audit log."""
    at.offer.visible = False
    at.offer.save()
    visitor = reader()
    visitor.signs_in(at, "instructor")
    assert f"{at.base}staff/" in visitor.page.url  # their only course
    assert "Hidden from students" in visitor.text()
    takes_a_class_over(visitor, tmp_path)
    visitor.follow(at.record.title)
    visitor.follow(at.offer.title)
    visitor.press("Show to students")
    assert "Visible to students" in visitor.text()
    visitor.follow("Change dates")
    sets_times(visitor)

    graded(at, "ada")
    visitor.follow(at.record.title)
    assert "1 of 1 attempts graded" in visitor.text()
    graded(at, "bob")
    visitor.page.get_by_text("2 of 2 attempts graded").wait_for()  # the page updates on its own
    visitor.follow(at.offer.title)
    visitor.follow("Submissions")
    visitor.follow("Lovelace, Ada")
    assert "of 13" in visitor.page.frame_locator("iframe.made").locator("body").inner_text()
    visitor.follow(at.offer.title)
    visitor.page.locator("summary", has_text="Publish marks").click()
    assert "16 answers await marking." in visitor.text()
    visitor.press("Publish incomplete marks")
    assert "Marks have been published since" in visitor.text()
    visitor.press("Unpublish marks")
    assert "Marks are not published" in visitor.text()
    visitor.follow(at.record.title)
    visitor.follow("Audit log")
    visitor.press("Verify now")
    content = visitor.text()
    assert "The hash chain of the log was intact." in content
    for action in ("class list imported", "visible to students", "dates changed", "marks published"):
        assert action in content
    visitor.looks("staff-audit")


def test_somebody_invited_joins(at: Small, reader: Callable[..., Reader]) -> None:
    """A student and a TA each join by a link that is shown and accepted once."""
    from autograder.service.models import Member

    Member.objects.create(course=at.record, role="student", student="ada")
    visitor = reader()
    visitor.is_known(at, "instructor")
    visitor.goto(f"{at.base}staff/members/?q=ada")
    visitor.page.get_by_role("link", name="ada").click()
    visitor.press("Invite")
    student = visitor.page.locator("main code").inner_text()
    visitor.goto(f"{at.base}staff/members/")
    visitor.page.locator("#add-member > summary").click()
    visitor.page.locator("#id_last_name").fill("Tim")
    visitor.page.locator("#id_role").select_option("ta")
    visitor.press("Add")
    helper = visitor.page.locator("main code").inner_text()
    assert student != helper
    for link, who, place in ((student, "ada", at.base), (helper, "tim", f"{at.base}staff/")):
        other = reader()
        joins(other, link, f"{who}-{at.record.slug}")
        assert other.page.url.endswith(place)
        assert at.offer.title in other.text()
        third = reader()
        third.goto(link, 404)
        assert "This link was already used" in third.text()
