"""What a class is told, gathered; and the course's own words, kept, checked and taken away again."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from autograder.records import Message
from tests.feedback.test_wordings import TRICKS
from tests.service import course, told

if TYPE_CHECKING:
    from autograder.assignment import Assignment
    from autograder.service.models import CourseRecord, Offer

KEY = ("activation", "name", "choice.unknown")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course in a folder, released."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def offer(service_course: CourseRecord, folder: Path) -> Offer:
    """Its assignment, with three students who chose wrongly."""
    from autograder.course import Course

    service_course.secret = Course.at(folder).secret()
    service_course.save()
    made = course.offered(service_course, folder)
    for student, name in (("ada", "softplus"), ("bob", "<swish>"), ("eve", "softplus")):
        message = Message("choice.unknown", {"name": name})
        told.graded(made, folder, student, told.told("activation", "name", message))
    return made


@pytest.fixture
def loaded(offer: Offer) -> Assignment:
    """The same, loaded."""
    from autograder.web import shown

    return shown.loaded(offer)


def save(offer: Offer, loaded: Assignment, texts: dict[str, str], student: str = "", key: Any = KEY) -> bool:
    """State words as somebody."""
    from autograder.service.marking import wordings
    from autograder.service.models import Account

    by, _ = Account.objects.get_or_create(username=f"{offer.course.slug}-head")
    return wordings.save(offer, loaded, key, texts, by=by, student=student)


def refused(code: str, *arguments: Any, **named: Any) -> None:
    """The words are not kept, for this reason, and what stood stays."""
    from autograder.service.marking.refusals import NotTaken
    from autograder.service.models import Wording

    before = list(Wording.objects.values_list("pk", "text"))
    with pytest.raises(NotTaken) as caught:
        save(*arguments, **named)
    assert code == caught.value.code
    assert before == list(Wording.objects.values_list("pk", "text"))


def shown_to(offer: Offer, student: str) -> str:
    """The feedback page of a student."""
    from autograder.web import shown

    return shown.feedback(offer, student, "en") or ""


def test_what_a_class_is_told_is_gathered(offer: Offer, loaded: Assignment) -> None:
    """By item and message: to whom, at what cost, and every sentence once, the most frequent first."""
    from autograder.service.marking import wordings

    found = {one.key: one for one in wordings.told(offer, loaded)}
    one = found[KEY]
    assert ("ada", "bob", "eve") == one.students
    assert Decimal(3) == one.cost
    sentences = ("“softplus” is not one of the options.", "“<swish>” is not one of the options.")
    assert {"en": sentences} == one.sentences
    assert (("name",), {}, ()) == (one.placeholders, one.own, one.alone)
    assert [("mlp", "why"), KEY[:2], ("thoughts", "any")] == [key[:2] for key in found]
    assert not [key for key in found if key[2] == "passed"]


def test_a_message_that_a_person_overruled_is_told_to_nobody(offer: Offer, loaded: Assignment) -> None:
    """The page does not show it either, and it costs nothing."""
    from autograder.service.marking import wordings

    told.mark(offer, "bob", "activation", points="1", touched=True)
    [one] = [one for one in wordings.told(offer, loaded) if one.key == KEY]
    assert (("ada", "eve"), Decimal(2)) == (one.students, one.cost)
    assert "swish" not in shown_to(offer, "bob").partition('id="notebook"')[0]


def test_words_stand_for_all_and_for_one_alone(offer: Offer, loaded: Assignment) -> None:
    """One student's go first, whichever were stated first; taken away, what was before is back."""
    from autograder.service.marking import wordings

    assert save(offer, loaded, {"en": "Only for you, {name}."}, student="ada")
    assert save(offer, loaded, {"en": "It is gelu, not {name}."})
    assert "Only for you, softplus." in shown_to(offer, "ada")
    assert "It is gelu, not &lt;swish&gt;." in shown_to(offer, "bob")
    [one] = [one for one in wordings.told(offer, loaded) if one.key == KEY]
    assert ({"en": "It is gelu, not {name}."}, ("ada",)) == (one.own, one.alone)
    [own] = [one for one in wordings.told(offer, loaded, "ada") if one.key == KEY]
    assert ({"en": "Only for you, {name}."}, ("ada",)) == (own.own, own.students)
    assert save(offer, loaded, {"en": " \r\n"}, student="ada")
    assert "It is gelu, not softplus." in shown_to(offer, "ada")
    assert save(offer, loaded, {"en": ""})
    assert "is not one of the options" in shown_to(offer, "ada")


def test_nothing_new_is_no_change(offer: Offer, loaded: Assignment) -> None:
    """The log has changes alone, each with what stood before and after."""
    from autograder.service.models import AuditEntry

    told_each = [save(offer, loaded, {"en": text}) for text in ("", "One.", "One.", "Two.", "")]
    assert [False, True, False, True, True] == told_each
    rows = AuditEntry.objects.filter(course=offer.course).order_by("pk")
    about = dict(zip(("question", "item", "code"), KEY, strict=True), student="")
    steps = [({}, {"en": "One."}), ({"en": "One."}, {"en": "Two."}), ({"en": "Two."}, {})]
    assert [
        ("wording", "small", {**about, "texts": before}, {**about, "texts": after}) for before, after in steps
    ] == list(rows.values_list("action", "subject", "before", "after"))


@pytest.mark.parametrize("trick", TRICKS)
def test_format_strings_are_refused(offer: Offer, loaded: Assignment, trick: str) -> None:
    """They do not come into the database."""
    refused("wording-braces", offer, loaded, {"en": f"It is gelu. {trick}"})


def test_other_words_are_refused(offer: Offer, loaded: Assignment) -> None:
    """Placeholders of other messages, too much text, other languages, messages that nobody is told."""
    refused("wording-unknown", offer, loaded, {"en": "{value}"})
    refused("wording-unknown", offer, loaded, {"en": "{__class__}"})
    refused("text-long", offer, loaded, {"en": "x" * 2001})
    refused("text-long", offer, loaded, {"en": "x" * 1_000_000})
    refused("wording-language", offer, loaded, {"xx": "x"})
    refused("wording-language", offer, loaded, {"de": "x"})  # a course in English
    refused("wording-nobody", offer, loaded, {"en": "x"}, student="zoe")
    for key in (("activation", "name", "passed"), ("a\x00", "b\ud800", "c"), ("", "", "")):
        refused("wording-nobody", offer, loaded, {"en": "x"}, key=key)
        refused("wording-nobody", offer, loaded, {"en": ""}, key=key)


def test_placeholders_that_not_all_have_are_refused_for_all(
    offer: Offer, loaded: Assignment, folder: Path
) -> None:
    """A wording for everybody has to be one for everybody; for one student it is theirs that count."""
    bare = told.told("activation", "name", Message("choice.unknown", {"other": "x"}))
    told.graded(offer, folder, "zoe", bare)
    refused("wording-unknown", offer, loaded, {"en": "{name}"})
    assert save(offer, loaded, {"en": "{other}"}, student="zoe")
    assert save(offer, loaded, {"en": "{name}"}, student="ada")


def test_hostile_words_are_kept_readable(offer: Offer, loaded: Assignment) -> None:
    """Lone surrogates, zeros and what reorders text; markup is text on the page."""
    from autograder.service.marking import wordings

    assert save(offer, loaded, {"en": "a\ud800\x00\u202e\r\n<script>alert(1)</script>"})
    kept = "a\ufffd␀⟨U+202E⟩\n<script>alert(1)</script>"
    assert {"en": kept} == wordings.of_student(offer, "ada")[KEY]
    assert "⟨U+202E⟩\n&lt;script&gt;alert(1)" in shown_to(offer, "ada")


def test_words_for_what_nobody_is_told_any_more_can_be_taken_away(
    offer: Offer, loaded: Assignment, folder: Path
) -> None:
    """They are listed, told to nobody; other ones cannot be stated in their place."""
    from autograder.service.marking import wordings

    save(offer, loaded, {"en": "It is gelu."})
    save(offer, loaded, {"en": "Yours."}, student="ada")
    for student in ("ada", "bob", "eve"):
        told.graded(offer, folder, student)
    [one] = [one for one in wordings.told(offer, loaded) if one.key == KEY]
    assert ((), {"en": "It is gelu."}, ("ada",)) == (one.students, one.own, one.alone)
    refused("wording-nobody", offer, loaded, {"en": "Something else."})
    assert save(offer, loaded, {"en": ""})
    assert save(offer, loaded, {"en": ""}, student="ada")
    assert {} == wordings.of_student(offer, "ada")


def test_words_are_of_one_course(offer: Offer, loaded: Assignment) -> None:
    """Another course that offers the same assignment does not have them."""
    from autograder.service.marking import wordings
    from autograder.service.models import CourseRecord
    from autograder.service.models import Offer as Offers

    save(offer, loaded, {"en": "It is gelu."})
    other = CourseRecord.objects.create(slug=f"{offer.course.slug}-b", title="B", secret=bytes(32))
    there = Offers(course=other, assignment=offer.assignment)
    assert {} == wordings.of_student(there, "ada")
