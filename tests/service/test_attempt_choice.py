"""The counting attempt in the service: a readable one if possible, or the choice of staff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from autograder.core.errors import ServiceError
from autograder.messages import render_message
from tests.notebook.test_document import LFS_POINTER, LOGIN_PAGE
from tests.service import course
from tests.service.test_attempts import folder, offer

if TYPE_CHECKING:
    from autograder.course import Handin
    from autograder.rubric import Rubric
    from autograder.service.models import Account, Attempt, Offer

__all__ = ["folder", "offer"]
"""Imported fixtures."""


@pytest.fixture
def rubric(offer: Offer) -> Rubric:
    """Return the rubric of the small course."""
    from autograder.service import versions

    return versions.load_rubric(offer.version)


@pytest.fixture
def staff(offer: Offer) -> Account:
    """Return an account that can choose attempts."""
    from autograder.service.models import Account

    account: Account = Account.objects.create(username=f"head-{offer.pk}")
    return account


def counting(offer: Offer, rubric: Rubric, student: str = "ada") -> Handin:
    """Return the counting attempt."""
    from autograder.service import attempts

    handin = attempts.find_counting_attempt(offer, student, rubric)
    assert handin is not None
    return handin


def damaged(files: dict[str, bytes], data: bytes) -> dict[str, bytes]:
    """Return the same files with damaged contents."""
    return dict.fromkeys(files, data)


def recorded(offer: Offer, student: str = "ada") -> str:
    """Return the digest of the submission with the current result of a student."""
    from autograder.service.models import CurrentResult

    rows = CurrentResult.objects.filter(course=offer.course, assignment=offer.assignment, student=student)
    return str(rows.get().result.submission)


@pytest.mark.parametrize("data", [b"", b"{}", LFS_POINTER, LOGIN_PAGE], ids=["empty", "{}", "lfs", "login"])
def test_an_attempt_that_cannot_be_read_replaces_no_other_one(
    offer: Offer, folder: Path, rubric: Rubric, data: bytes
) -> None:
    """Unreadable attempts may come from platforms, folders and earlier versions of the service."""
    files = course.released(folder)
    first = course.handed_in(offer, "ada", files)
    course.graded_without_a_box(offer)
    course.handed_in(offer, "ada", damaged(files, data))
    course.graded_without_a_box(offer)
    handin = counting(offer, rubric)
    assert str(first.pk) == handin.folder.name
    assert first.digest == recorded(offer)
    (message,) = handin.list_messages("en")
    assert "cannot be read, so this one counts" in render_message(message, "en")
    last = course.handed_in(offer, "ada", course.answered(folder, layers_answer="layers = 1"))
    assert str(last.pk) == counting(offer, rubric).folder.name


def test_whether_a_file_can_be_read_is_found_out_once(
    offer: Offer, folder: Path, rubric: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readability is checked once per file, and not if the student has one attempt only."""
    from autograder.service import attempts

    parsed: list[int] = []
    find_fault = attempts.find_notebook_fault
    monkeypatch.setattr(
        attempts, "find_notebook_fault", lambda data: parsed.append(len(data)) or find_fault(data)
    )
    files = course.released(folder)
    course.handed_in(offer, "ada", files)
    counting(offer, rubric)
    assert [] == parsed
    course.handed_in(offer, "ada", damaged(files, b""))
    counting(offer, rubric)
    number = len(parsed)
    assert number > 0
    counting(offer, rubric)
    assert number == len(parsed)


def test_what_staff_choose_counts_and_is_logged(
    offer: Offer, folder: Path, rubric: Rubric, staff: Account
) -> None:
    """The marks follow the choice, the student sees the reason, and the choice can be removed."""
    from autograder.service import attempt_choice, audit
    from autograder.service.models import AuditEntry

    first = course.handed_in(offer, "ada", course.released(folder))
    second = course.handed_in(offer, "ada", course.answered(folder, layers_answer="layers = 1"))
    course.graded_without_a_box(offer)
    assert second.digest == recorded(offer)

    attempt_choice.choose_attempt(first, " The second one was a test. ", rubric, staff)
    course.graded_without_a_box(offer)
    handin = counting(offer, rubric)
    assert (str(first.pk), first.digest) == (handin.folder.name, recorded(offer))
    assert "The second one was a test." in render_message(handin.list_messages("en")[0], "en")
    entry = AuditEntry.objects.filter(course=offer.course, action="choose attempt").get()
    assert (staff.username, {"ada": ["ada 2"]}) == (entry.who, entry.before)
    assert {"counts": {"ada": ["ada 1"]}, "reason": "The second one was a test."} == entry.after
    third = course.handed_in(offer, "ada", course.answered(folder, layers_answer="layers = 2"))
    course.graded_without_a_box(offer)
    assert first.digest == recorded(offer)  # the choice remains

    attempt_choice.drop_choice(offer, "ada", rubric, staff)
    course.graded_without_a_box(offer)
    assert (str(third.pk), third.digest) == (counting(offer, rubric).folder.name, recorded(offer))
    assert 2 == AuditEntry.objects.filter(course=offer.course, action="choose attempt").count()
    assert not audit.find_broken_entry()


def test_staff_may_choose_even_what_cannot_be_read(
    offer: Offer, folder: Path, rubric: Rubric, staff: Account
) -> None:
    """An unreadable attempt can be chosen for manual review."""
    from autograder.service import attempt_choice

    files = course.released(folder)
    course.handed_in(offer, "ada", files)
    broken = course.handed_in(offer, "ada", damaged(files, b"{}"))
    attempt_choice.choose_attempt(broken, "The file was repaired on paper.", rubric, staff)
    assert str(broken.pk) == counting(offer, rubric).folder.name


def test_of_several_choices_the_newest_counts_for_the_whole_group(
    offer: Offer, folder: Path, rubric: Rubric, staff: Account
) -> None:
    """The newest choice counts for all members, whoever submitted the attempt."""
    from autograder.service import attempt_choice

    offer.groups = {"red": ["ada", "bob"]}
    offer.save()
    files = course.released(folder)
    chosen: list[Attempt] = [course.handed_in(offer, student, files) for student in ("ada", "bob", "ada")]
    for attempt in chosen:
        attempt_choice.choose_attempt(attempt, "Agreed with the group.", rubric, staff)
        counting_ids = {counting(offer, rubric, student).folder.name for student in ("ada", "bob")}
        assert {str(attempt.pk)} == counting_ids
    attempt_choice.choose_attempt(chosen[0], "Agreed again.", rubric, staff)
    assert str(chosen[0].pk) == counting(offer, rubric, "bob").folder.name


@pytest.mark.parametrize(
    ("reason", "state"), [("  ", "graded"), ("Why not.", "failed")], ids=["silent", "failed"]
)
def test_a_choice_needs_a_reason_and_something_that_was_graded(
    offer: Offer, folder: Path, staff: Account, reason: str, state: str
) -> None:
    """Without a reason, or for a failed attempt, nothing changes."""
    from autograder.service import attempt_choice, versions
    from autograder.service.models_results import ChosenAttempt

    rubric = versions.load_rubric(offer.version)
    attempt = course.handed_in(offer, "ada", course.released(folder))
    attempt.state = state
    with pytest.raises(ServiceError):
        attempt_choice.choose_attempt(attempt, reason, rubric, staff)
    assert not ChosenAttempt.objects.filter(attempt=attempt).exists()


def test_files_that_nobody_asked_for_are_named_when_it_is_graded(
    offer: Offer, folder: Path, rubric: Rubric
) -> None:
    """An unexpected notebook is reported, because it may be the student's answer."""
    from autograder.core.errors import NotebookError
    from autograder.service import attempts

    files = course.released(folder)
    code = {"code.ipynb": files["code.ipynb"]}
    attempt = course.handed_in(offer, "ada", {**code, "formulas_final.ipynb": files["formulas.ipynb"]})
    handed = attempts.select_files_to_grade(attempt, rubric)
    fault = handed.notebooks["formulas"]
    assert isinstance(fault, NotebookError)
    assert ("unread-files", ("formulas_final.ipynb",)) == (fault.code, handed.unread)
    alone = attempts.select_files_to_grade(course.handed_in(offer, "bob", {**code, "plot.png": b"x"}), rubric)
    fault = alone.notebooks["formulas"]
    assert isinstance(fault, NotebookError)
    assert ("missing", ()) == (fault.code, alone.unread)
