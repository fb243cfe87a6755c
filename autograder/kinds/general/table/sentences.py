"""Sentences about tables: how one was read, and which rows and cells are not right."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "table.form": (
        "{what} is a “{form}”; a table is asked for: a list of tuples, a dictionary of rows, or a text with "
        "bars as in Markdown. A data frame becomes one by df.to_dict('list')."
    ),
    "table.entry": (
        "{what}: a row is a “{form}”; a row is a tuple, a list, or a dictionary by column ({row})."
    ),
    "table.text": "{what}: no columns can be seen in “{value}”. Separate them by bars, as in Markdown.",
    "table.size": "{what} has more than {limit} rows.",
    "table.width": "{what}: this row has {count} entries, more than there are columns.",
    "table.twice": "{what}: this row stands twice; only one of them can count.",
    "table.cell": "{what}: this entry is missing.",
    "table.choice": "{what}: this is not the right choice.",
    "table.row": "{what}: there is no row “{row}”.",
    "table.fewer": "{what}: rows that are asked for are missing; found are {count}.",
    "table.order": "{what}: this row stands in another place than in the model.",
    "table.extra": "{what} has rows that are not asked for: {rows}",
    "table.own-sum": "{what}: right for your own rows, though not all of those are.",
    "table.follows": (
        "{what}: not right, but it follows from your own shapes of the lines before, one of which is not "
        "right."
    ),
    "table.impossible": (
        "{what}: not right. With your own shapes of the lines before, this line would stop with an error."
    ),
    "table.some": "{count} of {total} entries are right.",
}
