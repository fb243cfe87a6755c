"""What the check of students says, in English and German; none of it depends on a right answer."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "unknown-question": {
        "en": "There is no question {name}. Is it spelt as in the notebook?{hint}",
        "de": "Es gibt keine Frage {name}. Ist sie wie im Notebook geschrieben?{hint}",
    },
    "did-you-mean": {"en": " Did you mean {found}?", "de": " Ist {found} gemeint?"},
    "no-check": {
        "en": "This answer could not be checked here. Hand it in all the same; that costs you nothing.",
        "de": "Diese Antwort ließ sich hier nicht prüfen. Geben Sie sie trotzdem ab; das kostet nichts.",
    },
    "not-final": {
        "en": "This looks at the form only; nothing here is your mark. Answers are graded after you hand in.",
        "de": "Hier geht es nur um die Form; nichts davon ist Ihre Note. Bewertet wird nach der Abgabe.",
    },
    "counted-all": {
        "en": "{ready} of {total} questions are answered.",
        "de": "{ready} von {total} Fragen sind beantwortet.",
    },
    "counted": {
        "en": "{ready} of {total} questions are answered; {person} more are read by a person.",
        "de": "{ready} von {total} Fragen sind beantwortet; {person} weitere liest ein Mensch.",
    },
    "cells-elsewhere": {
        "en": "Whether a given cell was changed or deleted cannot be seen from inside a notebook.",
        "de": "Ob eine vorgegebene Zelle geändert oder gelöscht wurde, ist im Notebook nicht zu sehen.",
    },
    "person": {
        "en": "A person reads this answer; there is nothing to check here.",
        "de": "Diese Antwort liest ein Mensch; hier gibt es nichts zu prüfen.",
    },
    "text-cell": {
        "en": "This answer stands in a text cell, which cannot be seen from here.",
        "de": "Diese Antwort steht in einer Textzelle, die von hier aus nicht zu sehen ist.",
    },
    "not-assigned": {
        "en": "{name} does not exist yet. Give it a value in the answer cell, run that cell, then this one.",
        "de": "{name} gibt es noch nicht. Geben Sie ihm in der Antwortzelle einen Wert; führen Sie sie aus, "
        "dann diese.",
    },
    "still-empty": {
        "en": "{name} is still empty ({found}). Replace it by your answer and run the cell again.",
        "de": "{name} ist noch leer ({found}). Ersetzen Sie es durch Ihre Antwort, und führen Sie die Zelle "
        "neu aus.",
    },
    "as-given": {
        "en": "{name} is still as it was given. Write your answer, and run the cell again.",
        "de": "{name} ist noch wie vorgegeben. Schreiben Sie Ihre Antwort, und führen Sie die Zelle neu aus.",
    },
    "no-body": {
        "en": "{name} has no body of its own yet. Write it, and run the cell again.",
        "de": "{name} hat noch keinen eigenen Inhalt. Schreiben Sie ihn, und führen Sie die Zelle neu aus.",
    },
    "gaps": {
        "en": "{name}: nothing stands yet at {found}.",
        "de": "{name}: Noch steht nichts bei {found}.",
    },
    "no-option": {
        "en": "{name}: “{found}” is none of the options that the notebook names.",
        "de": "{name}: „{found}“ ist keine der Möglichkeiten, die das Notebook nennt.",
    },
    "wrong-type": {
        "en": "{name} is of type {found}; expected {expected}.",
        "de": "{name} ist vom Typ {found}; erwartet wird {expected}.",
    },
    "unreadable": {"en": "{name}: {found}", "de": "{name}: {found}"},
    "read-as": {
        "en": "{name} is read as {found}",
        "de": "{name} wird gelesen als {found}",
    },
    "there": {
        "en": "{name} is there ({found})",
        "de": "{name} ist da ({found})",
    },
    "size-left-open": {
        "en": "{name}: {found} leaves a size open. Write the size it stands for.",
        "de": "{name}: {found} lässt eine Größe offen. Schreiben Sie die Größe hin, für die es steht.",
    },
    "no-size": {
        "en": "“{found}” is no size. Every size is a whole number from 0, or a formula.",
        "de": "„{found}“ ist keine Größe. Jede Größe ist eine ganze Zahl ab 0 oder eine Formel.",
    },
    "no-count": {
        "en": "“{found}” cannot be read as a whole number. Write it as 1234567 or 1,234,567.",
        "de": "„{found}“ ist nicht als ganze Zahl lesbar. Schreiben Sie 1234567 oder 1.234.567.",
    },
    "count-not-whole": {
        "en": "“{found}” is no whole number, and one is asked for.",
        "de": "„{found}“ ist keine ganze Zahl, und nach einer ist gefragt.",
    },
    "count-in-doubt": {
        "en": "is “{found}” {first} or {second}? Write it so that it can only be read in one way.",
        "de": "ist „{found}“ {first} oder {second}? Schreiben Sie es so, dass es nur eine Lesart gibt.",
    },
    "call-good": {
        "en": "{call} gives what it should",
        "de": "{call} ergibt, was es soll",
    },
    "call-form": {
        "en": "{call} runs, and gives a value of the form that is asked for",
        "de": "{call} läuft und ergibt einen Wert der verlangten Form",
    },
    "call-raises": {
        "en": "{call} raises {found}",
        "de": "{call} löst einen Fehler aus: {found}",
    },
    "call-type": {
        "en": "{call} gives a value of type {found}; expected {expected}",
        "de": "{call} ergibt einen Wert vom Typ {found}; erwartet wird {expected}",
    },
    "call-shape": {
        "en": "{call} has the shape {found}; expected {expected}",
        "de": "{call} hat die Form {found}; erwartet wird {expected}",
    },
    "call-value": {
        "en": "{call} gives {found}; expected {expected}",
        "de": "{call} ergibt {found}; erwartet wird {expected}",
    },
    "call-library": {
        "en": "{call} is tried as soon as your notebook has imported {found}",
        "de": "{call} wird versucht, sobald Ihr Notebook {found} importiert hat",
    },
    "parameters-good": {
        "en": "{name} takes the arguments that are asked for: {found}",
        "de": "{name} nimmt die verlangten Argumente: {found}",
    },
    "parameters-differ": {
        "en": "{name} takes the arguments {found}; expected {expected}",
        "de": "{name} nimmt die Argumente {found}; erwartet werden {expected}",
    },
    "written": {
        "en": "Something is written. A person reads this answer.",
        "de": "Es steht etwas da. Diese Antwort liest ein Mensch.",
    },
    "untouched": {
        "en": "Nothing is written yet.",
        "de": "Es steht noch nichts da.",
    },
    "has-to-run": {
        "en": "{name} is given a value that only running the cell tells: {call} in the notebook.",
        "de": "{name} bekommt einen Wert, der sich erst beim Ausführen ergibt: {call} im Notebook.",
    },
    "not-defined-in-cell": {
        "en": "{name} is given no value in the answer cell.",
        "de": "{name} bekommt in der Antwortzelle keinen Wert.",
    },
    "no-answer-cell": {
        "en": "The answer cell {name} is missing. Write your answer into a fresh copy of the notebook.",
        "de": "Die Antwortzelle {name} fehlt. Schreiben Sie die Antwort in eine frische Kopie des Notebooks.",
    },
    "calls-in-notebook": {
        "en": "Its visible checks have to run: {call} in the notebook.",
        "de": "Die sichtbaren Prüfungen müssen ausgeführt werden: {call} im Notebook.",
    },
    "cell-changed": {
        "en": "The given cell {name} was changed. The original is used in its place; nothing is lost.",
        "de": "Die vorgegebene Zelle {name} wurde geändert. An ihre Stelle tritt das Original; nichts geht "
        "verloren.",
    },
    "cell-deleted": {
        "en": "The given cell {name} was deleted. The original is put back; nothing is lost.",
        "de": "Die vorgegebene Zelle {name} wurde gelöscht. Das Original tritt an ihre Stelle; nichts geht "
        "verloren.",
    },
    "cell-copied": {
        "en": "The cell {name} stands {count} times. Only one of them can count; delete the copies.",
        "de": "Die Zelle {name} steht {count} Mal da. Nur eine kann zählen; löschen Sie die Kopien.",
    },
    "cells-unknown": {
        "en": "Whether these given cells were changed cannot be told, because some program took out their "
        "checksums: {name}.",
        "de": "Ob diese vorgegebenen Zellen geändert wurden, ist nicht zu sagen, weil ein Programm ihre "
        "Prüfsummen entfernt hat: {name}.",
    },
    "cells-fine": {
        "en": "All given cells are as they were handed out.",
        "de": "Alle vorgegebenen Zellen sind, wie sie ausgegeben wurden.",
    },
    "want-symbolic": {
        "en": "a text with a formula, or a number",
        "de": "ein Text mit einer Formel oder eine Zahl",
    },
    "want-count": {"en": "a whole number", "de": "eine ganze Zahl"},
    "want-shape": {"en": "a tuple such as (2, 3)", "de": "ein Tupel wie (2, 3)"},
    "want-quantity": {
        "en": "a number, or a text such as '4.5 MB'",
        "de": "eine Zahl oder ein Text wie '4.5 MB'",
    },
    "want-code": {"en": "a function or a class", "de": "eine Funktion oder eine Klasse"},
    "want-entries": {
        "en": "a dictionary such as {{'first': 1, 'second': 2}}, or a list",
        "de": "ein Dictionary wie {{'first': 1, 'second': 2}} oder eine Liste",
    },
    "want-table": {
        "en": "a list of tuples, a dictionary, or a text with bars as in Markdown",
        "de": "eine Liste von Tupeln, ein Dictionary oder ein Text mit Strichen wie in Markdown",
    },
    "want-choice": {
        "en": "a text, a number or a list of them",
        "de": "ein Text, eine Zahl oder eine Liste davon",
    },
}


def sentence(key: str, language: str, **params: str) -> str:
    """A sentence in a language; English where the language is not known."""
    texts = SENTENCES[key]
    return texts.get(language, texts["en"]).format_map(params)
