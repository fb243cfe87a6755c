"""The page's own words, in English and German."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar

from autograder import messages
from autograder.limits import amount
from autograder.records import Ending, Limits, Message, Met, Text
from autograder.wording import text_in

LABELS: Mapping[str, Text] = {
    "feedback": {"en": "Feedback", "de": "Rückmeldung"},
    "student": {"en": "Student", "de": "Studierende/r"},
    "submitted": {"en": "Handed in", "de": "Abgegeben"},
    "stated": {"en": "As stated in the notebook", "de": "Nach Angabe im Notebook"},
    "task": {"en": "Task", "de": "Aufgabe"},
    "subject": {"en": "Subject", "de": "Thema"},
    "possible": {"en": "Possible points", "de": "Mögliche Punkte"},
    "achieved": {"en": "Achieved points", "de": "Erreichte Punkte"},
    "sum": {"en": "Sum", "de": "Summe"},
    "of": {"en": "of", "de": "von"},
    "points": {"en": "points", "de": "Punkten"},
    "points-column": {"en": "Points", "de": "Punkte"},
    "pending-one": {
        "en": "A person still looks at 1 point.",
        "de": "Über 1 Punkt entscheidet noch ein Mensch.",
    },
    "pending": {
        "en": "A person still looks at {points} points.",
        "de": "Über {points} Punkte entscheidet noch ein Mensch.",
    },
    "open": {"en": "{points} open", "de": "{points} offen"},
    "lost": {"en": "Where points were lost", "de": "Wo Punkte verloren gingen"},
    "nothing-lost": {"en": "No points were lost.", "de": "Es gingen keine Punkte verloren."},
    "questions": {"en": "Question by question", "de": "Aufgabe für Aufgabe"},
    "fault": {"en": "What was to be repaired", "de": "Was zu reparieren war"},
    "verdict": {"en": "Result", "de": "Ergebnis"},
    "read-as": {"en": "Your answer was read as", "de": "Ihre Antwort wurde gelesen als"},
    "look-at": {"en": "Your answer: cell {number}", "de": "Ihre Antwort: Zelle {number}"},
    "notebook": {"en": "Your notebook, as it was run", "de": "Ihr Notebook, wie es ausgeführt wurde"},
    "no-notebook": {
        "en": "There is no executed notebook: what was handed in could not be read.",
        "de": "Es gibt kein ausgeführtes Notebook: Die Abgabe war nicht lesbar.",
    },
    "cell": {"en": "Cell {number}", "de": "Zelle {number}"},
    "given": {"en": "given", "de": "vorgegeben"},
    "text": {"en": "text", "de": "Text"},
    "code": {"en": "code", "de": "Code"},
    "not-run": {"en": "not run", "de": "nicht ausgeführt"},
    "ended": {"en": "ended the run", "de": "beendete den Lauf"},
    "formatted-output": {"en": "Formatted output", "de": "Formatierte Ausgabe"},
    "picture": {"en": "Picture made by this cell", "de": "Bild aus dieser Zelle"},
    "as-text": {"en": "Output of type {mime}, shown as text", "de": "Ausgabe vom Typ {mime}, als Text"},
    "not-shown": {
        "en": "An output of type {mime} cannot be shown here.",
        "de": "Eine Ausgabe vom Typ {mime} kann hier nicht gezeigt werden.",
    },
    "truncated": {
        "en": "Some output was longer than the limit and was not kept.",
        "de": "Ein Teil der Ausgabe überschritt die Grenze und wurde nicht aufbewahrt.",
    },
    "source-cut": {
        "en": "Only the beginning of this cell is kept here; all of it was run.",
        "de": "Hier ist nur der Anfang dieser Zelle aufbewahrt; gelaufen ist sie ganz.",
    },
    "text-cut": {
        "en": "Only the beginning of this cell is kept here.",
        "de": "Hier ist nur der Anfang dieser Zelle aufbewahrt.",
    },
    "page-full": {
        "en": "This cell is not shown: what the page shows of a notebook can have {limit} kB.",
        "de": "Diese Zelle fehlt hier: die Seite zeigt von einem Notebook höchstens {limit} kB.",
    },
    "more-outputs": {
        "en": "{number} more outputs are not shown.",
        "de": "{number} weitere Ausgaben fehlen hier.",
    },
    "isolation": {
        "en": "This submission was run with weaker isolation than usual ({isolation}).",
        "de": "Diese Abgabe lief mit schwächerer Abschottung als üblich ({isolation}).",
    },
    "passed": {"en": "passed", "de": "bestanden"},
    "partly": {"en": "partly", "de": "teilweise"},
    "failed": {"en": "not passed", "de": "nicht bestanden"},
    "no-answer": {"en": "no answer", "de": "keine Antwort"},
    "needs-review": {"en": "under review", "de": "in Durchsicht"},
    "marked": {"en": "marked by a person", "de": "von Hand bewertet"},
    "comment": {"en": "Comment", "de": "Kommentar"},
    "grade": {"en": "Grade", "de": "Note"},
    "grade-passed": {"en": "passed", "de": "bestanden"},
    "grade-failed": {"en": "not passed", "de": "nicht bestanden"},
    "grade-range": {"en": "{worst} to {best}", "de": "{worst} bis {best}"},
    "provisional": {
        "en": "Provisional: the grade depends on what is still open.",
        "de": "Vorläufig: Die Note hängt von dem ab, was noch offen ist.",
    },
    "provisional-same": {
        "en": "Provisional: something is still open, but it cannot change the grade.",
        "de": "Vorläufig: Noch ist etwas offen, aber es kann die Note nicht mehr ändern.",
    },
    "outdated": {
        "en": "Provisional: the rubric has changed since, and this will be graded again.",
        "de": "Vorläufig: Das Bewertungsschema hat sich seitdem geändert, und hier wird neu bewertet.",
    },
    "provisional-time": {
        "en": "Provisional: a person has yet to decide what the time of handing in means.",
        "de": "Vorläufig: Was der Zeitpunkt der Abgabe bedeutet, entscheidet noch ein Mensch.",
    },
    "task-points": {"en": "Points of the tasks", "de": "Punkte der Aufgaben"},
    "taken-line": {"en": "Taken away by a person", "de": "Von einem Menschen abgezogen"},
    "taken": {
        "en": "Taken away by a person: {taken} ({earned} − {taken} = {points}).",
        "de": "Von einem Menschen abgezogen: {taken} ({earned} − {taken} = {points}).",
    },
    "taken-bounded": {
        "en": "Taken away by a person: {taken}, but no more than the {earned} that were earned: a sum is "
        "never below zero.",
        "de": "Von einem Menschen abgezogen: {taken}, aber nicht mehr als die erreichten {earned}: Eine "
        "Summe liegt nie unter null.",
    },
    "extra-given": {
        "en": "Bonus points that a person gave for this: {points}",
        "de": "Bonuspunkte, die ein Mensch hierfür gab: {points}",
    },
    "extra-taken": {
        "en": "Points that a person took away for this: {points}",
        "de": "Punkte, die ein Mensch hierfür abzog: {points}",
    },
    "bonus-line": {"en": "Bonus points", "de": "Bonuspunkte"},
    "bonus-line-out": {"en": "Bonus points, not counted", "de": "Bonuspunkte, nicht gezählt"},
    "bonus": {
        "en": "Bonus points: {points}, included in the sum ({sources}).",
        "de": "Bonuspunkte: {points}, in der Summe enthalten ({sources}).",
    },
    "bonus-out": {
        "en": "Bonus points: {points} ({sources}), not in the sum as long as it is not enough to pass "
        "without them.",
        "de": "Bonuspunkte: {points} ({sources}), nicht in der Summe, solange sie ohne sie nicht zum "
        "Bestehen reicht.",
    },
    "bonus-from.questions": {"en": "for bonus questions", "de": "für Bonusfragen"},
    "bonus-from.people": {"en": "from those who marked by hand", "de": "von denen, die von Hand bewerteten"},
    "bonus-from.course": {"en": "from the course", "de": "aus dem Kurs"},
    "above-possible": {
        "en": "The sum is more than the {possible} points that are possible.",
        "de": "Die Summe ist mehr als die {possible} möglichen Punkte.",
    },
    "best-grade": {
        "en": "There is no better grade than {grade}.",
        "de": "Eine bessere Note als {grade} gibt es nicht.",
    },
    "bonus-question": {"en": "bonus", "de": "Bonus"},
    "bonus.always": {
        "en": "Bonus points add to the points that are earned, not to those that are possible.",
        "de": "Bonuspunkte zählen zu den erreichten Punkten, nicht zu den möglichen.",
    },
    "bonus.when-passed": {
        "en": "Bonus points count only where the points without them are enough to pass.",
        "de": "Bonuspunkte zählen nur, wenn die Punkte ohne sie zum Bestehen reichen.",
    },
    "rounding.exact": {
        "en": "Points are not rounded: a grade begins exactly at its threshold.",
        "de": "Punkte werden nicht gerundet: Eine Note beginnt genau an ihrer Schwelle.",
    },
    "rounding.up-to-half": {
        "en": "For the grade, points are rounded up to the next half point.",
        "de": "Für die Note werden Punkte auf den nächsten halben Punkt aufgerundet.",
    },
    "rounding.up-to-whole": {
        "en": "For the grade, points are rounded up to the next whole point.",
        "de": "Für die Note werden Punkte auf den nächsten ganzen Punkt aufgerundet.",
    },
    "rounding.percent": {
        "en": "Percent are rounded down to a whole number.",
        "de": "Prozent werden auf eine ganze Zahl abgerundet.",
    },
    "pass-from": {
        "en": "Passed from {points} of {possible} points.",
        "de": "Bestanden ab {points} von {possible} Punkten.",
    },
    "scale": {"en": "From points to the grade", "de": "Von den Punkten zur Note"},
    "from": {"en": "from", "de": "ab"},
}

_DECIMAL = re.compile(r"[0-9]+\.[0-9]+")

ICONS: Mapping[str, str] = {
    "passed": "✓",
    "partly": "◐",
    "failed": "✕",
    "no-answer": "○",
    "needs-review": "⋯",
    "marked": "✎",
}


class Labels:
    """The page's words in one language; English for a language that is not there."""

    texts: ClassVar[Mapping[str, Text]] = LABELS

    def __init__(self, language: str) -> None:
        self.language = language if language in LABELS["feedback"] else "en"

    def __call__(self, key: str, **params: object) -> str:
        """One label, with its placeholders filled."""
        return self.texts[key][self.language].format_map(params)

    def icon(self, status: str) -> str:
        """The sign of a status; it always stands beside its word."""
        return ICONS[status]

    def pick(self, text: str | Text, otherwise: str = "") -> str:
        """A rubric's text in this language; see `text_in`."""
        return text_in(text, self.language) or otherwise

    def number(self, value: Decimal) -> str:
        """Points without trailing zeros, with the language's decimal sign and a real minus."""
        plain = f"{value.normalize():f}".replace("-", "−")
        return plain.replace(".", ",") if self.language == "de" else plain

    def grade(self, name: str) -> str:
        """A grade with the language's decimal sign and a real minus."""
        shown = name.replace("-", "−")
        return shown.replace(".", ",") if self.language == "de" and _DECIMAL.fullmatch(name) else shown

    def ending(self, ending: Ending, limits: Limits) -> str:
        """Why a cell was ended before it was done."""
        return self._limit(f"cell.ending.{ending.value}", amount(ending, limits))

    def met(self, met: Met, limits: Limits) -> str:
        """Which limit a cell met without being ended."""
        return self._limit(f"cell.limit.{met.value}", amount(met, limits))

    def _limit(self, code: str, limit: str) -> str:
        return messages.render(Message(code, {"limit": limit}), self.language)

    def pending(self, points: Decimal) -> str:
        """How many points a person still decides on."""
        return self("pending-one") if points == 1 else self("pending", points=self.number(points))
