"""Sentences about tables: how one was read, and which rows and cells are not right."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {
    "table.form": {
        "en": "{what} is a “{form}”; a table is asked for: a list of tuples, a dictionary of rows, or a "
        "text with bars as in Markdown. A data frame becomes one by df.to_dict('list').",
        "de": "{what} ist ein „{form}“; gefragt ist eine Tabelle: eine Liste von Tupeln, ein Dictionary "
        "mit den Zeilen oder ein Text mit Strichen wie in Markdown. Ein DataFrame wird dazu mit "
        "df.to_dict('list').",
    },
    "table.entry": {
        "en": "{what}: a row is a “{form}”; a row is a tuple, a list, or a dictionary by column ({row}).",
        "de": "{what}: eine Zeile ist ein „{form}“; eine Zeile ist ein Tupel, eine Liste oder ein "
        "Dictionary nach Spalten ({row}).",
    },
    "table.text": {
        "en": "{what}: no columns can be seen in “{value}”. Separate them by bars, as in Markdown.",
        "de": "{what}: In „{value}“ sind keine Spalten zu erkennen. Bitte mit Strichen trennen wie in "
        "Markdown.",
    },
    "table.size": {
        "en": "{what} has more than {limit} rows.",
        "de": "{what} hat mehr als {limit} Zeilen.",
    },
    "table.width": {
        "en": "{what}: this row has {count} entries, more than there are columns.",
        "de": "{what}: Diese Zeile hat {count} Einträge, mehr als es Spalten gibt.",
    },
    "table.twice": {
        "en": "{what}: this row stands twice; only one of them can count.",
        "de": "{what}: Diese Zeile steht zweimal da; nur eine kann zählen.",
    },
    "table.cell": {
        "en": "{what}: this entry is missing.",
        "de": "{what}: Dieser Eintrag fehlt.",
    },
    "table.choice": {
        "en": "{what}: this is not the right choice.",
        "de": "{what}: Das ist nicht die richtige Wahl.",
    },
    "table.row": {
        "en": "{what}: there is no row “{row}”.",
        "de": "{what}: Es gibt keine Zeile „{row}“.",
    },
    "table.fewer": {
        "en": "{what}: rows that are asked for are missing; found are {count}.",
        "de": "{what}: Es fehlen Zeilen, nach denen gefragt ist; gefunden: {count}.",
    },
    "table.order": {
        "en": "{what}: this row stands in another place than in the model.",
        "de": "{what}: Diese Zeile steht an einer anderen Stelle als im Modell.",
    },
    "table.extra": {
        "en": "{what} has rows that are not asked for: {rows}",
        "de": "{what} hat Zeilen, nach denen nicht gefragt ist: {rows}",
    },
    "table.own-sum": {
        "en": "{what}: right for your own rows, though not all of those are.",
        "de": "{what}: Richtig für Ihre eigenen Zeilen, auch wenn von diesen nicht alle stimmen.",
    },
    "table.some": {
        "en": "{count} of {total} entries are right.",
        "de": "{count} von {total} Einträgen sind richtig.",
    },
}
