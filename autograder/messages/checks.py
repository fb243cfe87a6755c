"""Sentences about answers of every kind but formulas: what was seen, and what the student can do.

``{what}`` is the name of the answer, with the case that was asked in brackets. No sentence says what
would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograder.messages import properties
from autograder.records import Text

_GENERAL: Mapping[str, Text] = {
    "passed": {"en": "Right.", "de": "Richtig."},
    "needs.lacking": {
        "en": "This holds, but it counts only together with other items of this question, which do not.",
        "de": "Das stimmt, zählt aber nur zusammen mit anderen Punkten dieser Aufgabe, die nicht stimmen.",
    },
    "no-answer": {
        "en": "There is no answer in this cell.",
        "de": "In dieser Zelle steht keine Antwort.",
    },
    "name.missing": {
        "en": "“{name}” is not defined after your notebook ran. Check the spelling, and whether the cell "
        "that defines it stopped with an error.",
        "de": "„{name}“ ist nach dem Durchlauf des Notebooks nicht definiert. Bitte Schreibweise "
        "prüfen, und ob "
        "die Zelle mit der Definition mit einem Fehler abbrach.",
    },
    "name.lost": {
        "en": "“{name}” is not there: the cell with your answer was stopped or ended Python, and the rest of "
        "the notebook was run without it. The remark at that cell says why.",
        "de": "„{name}“ ist nicht da: Die Zelle mit der Antwort wurde beendet oder hat Python beendet, und "
        "der Rest des Notebooks lief ohne sie. Der Hinweis an dieser Zelle sagt, warum.",
    },
    "answer.not-python": {
        "en": "The answer cell is not valid Python: line {line}.",
        "de": "Die Antwortzelle ist kein gültiges Python: Zeile {line}.",
    },
    "answer.unreadable": {
        "en": "The answer cell is not valid Python, or is too long or too deeply nested to be read.",
        "de": "Die Antwortzelle ist kein gültiges Python, oder zu lang oder zu tief verschachtelt.",
    },
    "not-implemented": {
        "en": "“{name}” still raises NotImplementedError: it is not written yet.",
        "de": "„{name}“ löst noch NotImplementedError aus: es fehlt die Umsetzung.",
    },
    "value.none": {
        "en": "{what} is None. Did you forget a return, or to assign a value?",
        "de": "{what} ist None. Fehlt ein return oder eine Zuweisung?",
    },
    "raised": {
        "en": "{what} stopped with {error}: {text}",
        "de": "{what} brach ab mit {error}: {text}",
    },
    "unsteady": {
        "en": "{what} gave two different results for the same input. The same input must give the same "
        "result.",
        "de": "{what} gab zweimal für dieselbe Eingabe verschiedene Ergebnisse. Gleiche Eingaben müssen "
        "gleiche Ergebnisse geben.",
    },
    "review.fault": {
        "en": "This could not be judged automatically. A person looks at it; you lose nothing by it.",
        "de": "Das ließ sich nicht automatisch bewerten. Eine Person sieht es sich an; es geht nichts "
        "verloren.",
    },
    "review.ended": {
        "en": "While your notebook was run, its process was ended more than once, for no reason that we "
        "can see. This was therefore not judged automatically. A person looks at it.",
        "de": "Während dein Notebook lief, wurde sein Prozess mehr als einmal beendet, aus keinem Grund, "
        "den wir sehen. Das wurde deshalb nicht automatisch bewertet. Eine Person sieht es sich "
        "an.",
    },
    "review.person": {
        "en": "A person reads this answer.",
        "de": "Diese Antwort liest eine Person.",
    },
    "review.missing": {
        "en": "This was not judged because of a fault on our side. A person looks at it.",
        "de": "Das wurde durch einen Fehler auf unserer Seite nicht bewertet. Eine Person sieht es sich an.",
    },
    "refused": {
        "en": "The notebook could not be read, so nothing in it was graded: {reason}",
        "de": "Das Notebook ließ sich nicht lesen, deshalb wurde nichts darin bewertet: {reason}",
    },
    "refused.review": {
        "en": "We could not open the notebook: {reason} A person looks at it.",
        "de": "Wir konnten das Notebook nicht öffnen: {reason} Eine Person sieht es sich an.",
    },
}

_VALUES: Mapping[str, Text] = {
    "value.form": {
        "en": "{what}{place}: “{form}” is not the kind of value that is asked for.",
        "de": "{what}{place}: „{form}“ ist nicht die Art von Wert, nach der gefragt ist.",
    },
    "value.entry": {
        "en": "{what} has no entry {entry}.",
        "de": "{what} hat keinen Eintrag {entry}.",
    },
    "value.extra": {
        "en": "{what} has entries that are not asked for: {entries}",
        "de": "{what} hat Einträge, nach denen nicht gefragt ist: {entries}",
    },
    "value.length": {
        "en": "{what} has {count} parts; another number is asked for.",
        "de": "{what} hat {count} Teile; gefragt ist eine andere Anzahl.",
    },
    "value.text": {"en": "{what} is another text.", "de": "{what} ist ein anderer Text."},
    "value.number": {"en": "{what} is not the right number.", "de": "{what} ist nicht die richtige Zahl."},
    "value.differs": {
        "en": "{what} has the right shape, but {count} of {total} numbers differ.",
        "de": "{what} hat die richtige Form, aber {count} von {total} Zahlen weichen ab.",
    },
    "value.nan": {
        "en": "{what}: {count} of {total} numbers are NaN. Look for 0/0, or a softmax over only −∞.",
        "de": "{what}: {count} von {total} Zahlen sind NaN. Bitte nach 0/0 suchen, oder einem Softmax "
        "über lauter −∞.",
    },
    "value.dtype": {
        "en": "{what} has the dtype {dtype}; the question asks for another one.",
        "de": "{what} hat den dtype {dtype}; die Frage verlangt einen anderen.",
    },
    "value.device": {
        "en": "{what} is on the device {device}; the question asks for {wanted}.",
        "de": "{what} liegt auf dem Gerät {device}; die Frage verlangt {wanted}.",
    },
    "value.dimensions": {
        "en": "{what} has the shape {shape}: {count} axes are not the right number of axes.",
        "de": "{what} hat die Form {shape}: {count} Achsen sind nicht die richtige Anzahl.",
    },
    "value.axes": {
        "en": "{what} has the shape {shape}: the right sizes, but the axes are in another order.",
        "de": "{what} hat die Form {shape}: die richtigen Größen, aber die Achsen in anderer Reihenfolge.",
    },
    "value.shape": {
        "en": "{what} has the shape {shape}: wrong at axis {axes} (counted from 0).",
        "de": "{what} hat die Form {shape}: falsch an Achse {axes} (gezählt ab 0).",
    },
    "weights.missing": {
        "en": "{what}: the state_dict has no {names}. The question states the names of the parameters.",
        "de": "{what}: im state_dict fehlt {names}. Die Frage nennt die Namen der Parameter.",
    },
    "weights.shape": {
        "en": "{what}: these parameters have another shape than the question states: {names}.",
        "de": "{what}: diese Parameter haben eine andere Form, als die Frage angibt: {names}.",
    },
    "weights.shared": {
        "en": "{what}: two names stand for one and the same parameter: {names}. Each map needs its own.",
        "de": "{what}: zwei Namen stehen für ein und denselben Parameter: {names}. Jede Abbildung braucht "
        "ihren eigenen.",
    },
    "weights.extra": {
        "en": "{what}: there are parameters that the question does not name: {names}.",
        "de": "{what}: es gibt Parameter, die die Frage nicht nennt: {names}.",
    },
}

_COUNTS: Mapping[str, Text] = {
    "count.wrong": {"en": "{what}: {value} is not right.", "de": "{what}: {value} ist nicht richtig."},
    "count.bool": {
        "en": "{what} is {value}; a number is asked for.",
        "de": "{what} ist {value}; gefragt ist eine Zahl.",
    },
    "count.fraction": {
        "en": "{what} is {value}; a whole number is asked for.",
        "de": "{what} ist {value}; gefragt ist eine ganze Zahl.",
    },
    "count.huge": {
        "en": "{what} is far too large a number.",
        "de": "{what} ist eine viel zu große Zahl.",
    },
    "count.text": {
        "en": "{what}: “{value}” cannot be read as a whole number. Write it as 1234567 or 1,234,567.",
        "de": "{what}: „{value}“ ist nicht als ganze Zahl lesbar. Bitte 1234567 oder 1.234.567 schreiben.",
    },
    "count.ambiguous": {
        "en": "{what}: is “{value}” {first} or {second}? Write it so that it can only be read in one way.",
        "de": "{what}: Ist „{value}“ {first} oder {second}? Bitte so schreiben, dass es nur eine Lesart "
        "gibt.",
    },
    "count.form": {
        "en": "{what} is a “{form}”; a whole number is asked for.",
        "de": "{what} ist ein „{form}“; gefragt ist eine ganze Zahl.",
    },
}

_CHOICES: Mapping[str, Text] = {
    "choice.form": {
        "en": "{what} is a “{form}”; write one of the options as text, or several in a list.",
        "de": "{what} ist ein „{form}“; bitte eine Möglichkeit als Text schreiben, mehrere als Liste.",
    },
    "choice.wrong": {"en": "That is not the right choice.", "de": "Das ist nicht die richtige Wahl."},
    "choice.some": {
        "en": "{count} of the {total} you chose are right; wrong ones count against right ones.",
        "de": "{count} der {total} gewählten sind richtig; falsche zählen gegen richtige.",
    },
    "choice.entry": {
        "en": "“{name}” is not one of the right ones.",
        "de": "„{name}“ gehört nicht zu den richtigen.",
    },
    "choice.unknown": {
        "en": "“{name}” is not one of the options.",
        "de": "„{name}“ gehört nicht zu den Möglichkeiten.",
    },
    "choice.repeated": {
        "en": "“{name}” was already your answer to an earlier part; each may be given once.",
        "de": "„{name}“ war schon Ihre Antwort auf einen früheren Teil; jede darf nur einmal vorkommen.",
    },
    "choice.fewer": {
        "en": "You gave {count} different ones; {wanted} are asked for.",
        "de": "Es sind {count} verschiedene genannt; gefragt sind {wanted}.",
    },
}

SENTENCES: Mapping[str, Text] = {
    **_GENERAL,
    **_VALUES,
    **_COUNTS,
    **_CHOICES,
    **properties.SENTENCES,
}
