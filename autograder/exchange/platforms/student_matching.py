"""Identify students of the class list by file names, lists and names on a platform."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from autograder.core.tables import escape_name
from autograder.core.wording import Phrase
from autograder.messages import build_localised_text
from autograder.rubric.variants.draws import normalise_id

_ALIKE = 0.6
_SUGGESTED = 3
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_BARE = str.maketrans({"ß": "ss", "ø": "o", "ł": "l", "đ": "d", "æ": "ae"})
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")


class ListedStudent(Struct, frozen=True):
    """One line of the course's class list, with the student's names on platforms."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    login: str = ""
    """Login name of the student."""
    platform_id: str = ""
    """Number of the student's account on the platform, as Canvas and ILIAS put it in names of files."""

    @property
    def name(self) -> str:
        """Full name; the id if no name is known."""
        return f"{self.first_name} {self.last_name}".strip() or self.id


class Identification(Struct, frozen=True):
    """How a file name, a list or a platform identifies someone. Any field may be unknown."""

    id: str = ""
    name: str = ""
    """The complete name, in any order."""
    email: str = ""
    login: str = ""
    number: str = ""
    """Number of the account on the platform, or of the participation; it has priority over a name."""

    @property
    def label(self) -> str:
        """Text by which people recognise it."""
        return self.name or self.id or self.login or self.email or self.number


class Match(Struct, frozen=True):
    """Identified student, or a suggestion."""

    student: str = ""
    suggestion: Phrase = ""
    """Sentence with possible students, if none was identified."""


class Register:
    """Class list with lookup of students.

    Statements of staff have priority, then ids, numbers, logins and addresses, and names only if they are
    unique.

    Args:
        students: students of the class list; empty: there is none, and a source's ids are accepted as they
            are.
        stated: text in file names or lists → id of the student.
    """

    def __init__(self, students: Iterable[ListedStudent], aliases: Mapping[str, str] | None = None) -> None:
        self._students = {normalise_id(listed.id): listed for listed in students}
        self._stated = {_normalize_text(said): student for said, student in (aliases or {}).items()}
        self._exact: dict[str, set[str]] = defaultdict(set)
        self._names: dict[str, set[str]] = defaultdict(set)
        for listed in self._students.values():
            for key, value in (
                ("id", listed.id),
                ("number", listed.platform_id),
                ("login", listed.login),
                ("email", listed.email),
            ):
                if value:
                    self._exact[f"{key} {_normalize_text(value)}"].add(listed.id)
            for form in _list_forms("", listed.first_name, listed.last_name):
                self._names[form].add(listed.id)

    @property
    def students(self) -> tuple[ListedStudent, ...]:
        """All students on the list."""
        return tuple(self._students.values())

    def get_student(self, student: str) -> ListedStudent | None:
        """Return a student by id; None if the list does not contain it."""
        return self._students.get(normalise_id(student))

    def find_student(self, identity: Identification) -> Match:
        """Return the student that is meant, or a suggestion."""
        for said in (identity.name, identity.id, identity.login, identity.email, identity.number):
            # Statements of staff have priority: they exist because automatic matching failed.
            if said and _normalize_text(said) in self._stated:
                return Match(self._stated[_normalize_text(said)])
        # Without a class list there is nothing to compare with, so only a stated id is usable.
        if not self._students:
            return (
                Match(identity.id) if identity.id else Match("", build_localised_text("fault.match-no-list"))
            )
        several: set[str] = set()
        for matches in self._list_candidates(identity):
            if len(matches) == 1:
                return Match(next(iter(matches)))
            # Keep looking: weaker evidence may still be unique.
            several = several or matches
        if several:
            students = ", ".join(sorted(several))
            return Match(
                "", build_localised_text("fault.match-several", number=len(several), students=students)
            )
        return Match("", self._suggest_student(identity))

    def _list_candidates(self, identity: Identification) -> Iterable[set[str]]:
        """Yield the students with each of the given facts, the strongest fact first."""
        said = (identity.id, identity.login, identity.email, identity.number)
        for key, value in zip(("id", "login", "email", "number"), said, strict=True):
            if value:
                yield self._exact.get(f"{key} {_normalize_text(value)}", set())
        if identity.id:  # a folder may be called after anything
            for key in ("login", "email", "number"):
                yield self._exact.get(f"{key} {_normalize_text(identity.id)}", set())
            yield self._find_named(identity.id)
        if identity.login:  # where ids are logins, or a platform calls an id so
            yield self._exact.get(f"id {_normalize_text(identity.login)}", set())
        if identity.email:
            yield self._exact.get(f"id {_normalize_text(identity.email.partition('@')[0])}", set())
        if identity.name:
            yield self._find_named(identity.name)

    def _find_named(self, name: str) -> set[str]:
        """Return the students with a name, also after a group's name as in Moodle (``Group 1-Ada King``)."""
        ids: set[str] = set()
        for part in (name, *(name.split("-", position)[-1] for position in range(1, name.count("-") + 1))):
            for form in _list_forms(part):
                ids = ids | self._names.get(form, set())
            if ids:
                break
        return ids

    def _suggest_student(self, identity: Identification) -> Phrase:
        """Return a sentence with the most similar students."""
        texts = {_simplify_text(listed.name): listed for listed in self.students} | {
            _simplify_text(listed.id): listed for listed in self.students
        }
        close = difflib.get_close_matches(_simplify_text(identity.label), texts, n=_SUGGESTED, cutoff=_ALIKE)
        near = list(dict.fromkeys(texts[text].id for text in close))
        if not near:
            return build_localised_text("fault.match-nobody")
        students = ", ".join(f"{student} ({self._students[normalise_id(student)].name})" for student in near)
        return build_localised_text("fault.match-similar", students=escape_name(students))


def _normalize_text(text: str) -> str:
    """Return a text for comparison: Unicode-normalised, in lower case, with single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _list_forms(name: str, *parts: str) -> set[str]:
    """Return forms in which two spellings of a name are equal: words in any order, and all in one word.

    Accents are removed, spelled the German way (``ue``), or, as in Canvas, dropped with their letter.

    Args:
        name: name as it is stated.
        parts: first and last names, if known; then both orders are used.
    """
    orders = [name, *([" ".join(parts), " ".join(reversed(parts))] if parts else ())]
    forms = set()
    for said in map(_normalize_text, orders):
        for spelled in (said.translate(_GERMAN), said, _NOT_ASCII.sub("", said)):
            words = [word for word in map(_simplify_text, re.split(r"[\s,]+", spelled)) if word]
            forms |= {" ".join(sorted(words)), "".join(words)}
    return forms - {""}


def _simplify_text(text: str) -> str:
    """Return the letters and digits of a text, without accents."""
    bare = unicodedata.normalize("NFKD", text.casefold().translate(_BARE))
    return re.sub(r"[\W_]+", "", "".join(char for char in bare if not unicodedata.combining(char)))
