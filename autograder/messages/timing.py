"""Sentences about when something was handed in."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

SENTENCES: Mapping[str, Text] = {
    "timing.late": {
        "en": "Handed in {late} after the end, which was {end}. It was graded all the same; a person decides "
        "what the delay means.",
        "de": "Abgegeben {late} nach dem Ende; das war {end}. Bewertet wurde trotzdem; was die Verspätung "
        "bedeutet, entscheidet ein Mensch.",
    },
    "timing.refused": {
        "en": "Handed in {late} after the end, which was {end}. In this course, late submissions are not "
        "graded.",
        "de": "Abgegeben {late} nach dem Ende; das war {end}. Verspätete Abgaben werden in diesem Kurs nicht "
        "bewertet.",
    },
    "timing.accepted": {
        "en": "Handed in {late} after the end, which was {end}. It counts all the same.",
        "de": "Abgegeben {late} nach dem Ende; das war {end}. Die Abgabe zählt trotzdem.",
    },
    "timing.doubt-accepted": {
        "en": "It could not be told when this was handed in; the end was {end}. It counts all the same.",
        "de": "Es ließ sich nicht feststellen, wann dies abgegeben wurde; das Ende war {end}. Die Abgabe "
        "zählt trotzdem.",
    },
    "timing.earlier": {
        "en": "What you handed in after the end ({end}) does not count. This is your last attempt in time.",
        "de": "Was nach dem Ende ({end}) abgegeben wurde, zählt nicht. Dies ist Ihr letzter rechtzeitiger "
        "Versuch.",
    },
    "timing.not-known": {
        "en": "It could not be told when this was handed in; the end was {end}. That costs nothing by "
        "itself: a person looks at it.",
        "de": "Es ließ sich nicht feststellen, wann dies abgegeben wurde; das Ende war {end}. Das kostet für "
        "sich genommen nichts: Ein Mensch sieht es sich an.",
    },
    "refused.late": {
        "en": "This was handed in after the end, so nothing in it was graded.",
        "de": "Dies wurde nach dem Ende abgegeben, deshalb wurde nichts darin bewertet.",
    },
}
