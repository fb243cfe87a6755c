"""Identification of students: ambiguous or unknown names are never guessed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.exchange.platforms.student_matching import Identification, ListedStudent, Register

STUDENTS = (
    ListedStudent("s1", "Ada", "Lovelace", "ada@example.org", "alovelace", "4001"),
    ListedStudent("s2", "Änne Sofie", "von der Höh", "aenne@example.org"),
    ListedStudent("s3", "Anna-Lena", "Kim", "kim@example.org"),
    ListedStudent("s4", "Jo", "Kim", "jo1@example.org"),
    ListedStudent("s5", "Jo", "Kim", "jo2@example.org"),
)
REGISTER = Register(STUDENTS, {"The Countess": "s1"})


@pytest.mark.parametrize(
    ("identity", "student"),
    [
        (Identification("s1"), "s1"),
        (Identification("S1"), "s1"),
        (Identification(number="4001", name="Jo Kim"), "s1"),
        (Identification(login="ALovelace"), "s1"),
        (Identification(email="Ada@example.org"), "s1"),
        (Identification(email="s1@students.example.org"), "s1"),
        (Identification("ada@example.org"), "s1"),
        (Identification("Lovelace, Ada"), "s1"),
        (Identification(name="lovelaceada"), "s1"),
        (Identification(name="the  countess"), "s1"),
        (Identification(name="Group 1-Ada Lovelace"), "s1"),
        (Identification(name="Aenne Sofie von der Hoeh"), "s2"),
        (Identification(name="Anne Sofie von der Hoh"), "s2"),
        (Identification(name="von der Höh A\u0308nne Sofie"), "s2"),
        (Identification(name="vonderhhnnesofie"), "s2"),
        (Identification(name="Anna-Lena Kim"), "s3"),
        (Identification(name="Group A-Team-Anna-Lena Kim"), "s3"),
        (Identification(name="Jo Kim", email="jo2@example.org"), "s5"),
        (Identification(name="Jo Kim"), ""),
        (Identification(name="Lena Kim"), ""),
        (Identification(name="Ada"), ""),
        (Identification(name="Lovelace"), ""),
        (Identification(), ""),
    ],
)
def test_students_are_found_by_what_names_them_alone(identity: Identification, student: str) -> None:
    """Unique ids, numbers, logins, addresses and full names identify a student; partial names do not."""
    assert student == REGISTER.find_student(identity).student


def test_suggestions_name_who_is_near() -> None:
    """Suggest the nearest student for a misspelling, and all students for an ambiguous name."""
    for name, said in (
        ("Jo Kim", "2 students are called so: s4, s5"),
        ("Ada Lovelase", "did you mean s1 (Ada Lovelace)?"),
        ("Zzyzx", "nobody on the class list has a similar name"),
    ):
        match = REGISTER.find_student(Identification(name=name))
        assert ("", said) == (match.student, str(match.suggestion))


@given(st.text(max_size=30))
def test_any_text_finds_one_of_the_list_or_nobody(text: str) -> None:
    """Any text gives a student of the list, or none with a suggestion."""
    for identity in (
        Identification(text),
        Identification(name=text),
        Identification(login=text, number=text, email=text),
    ):
        found = REGISTER.find_student(identity)
        assert (found.student in {one.id for one in STUDENTS}) != bool(found.suggestion)
