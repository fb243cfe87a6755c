"""Sentences about tables: how one was read, and which rows and cells are not right."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "table.form": (
        "{what} is a “{form}”; a table is expected: a list of tuples, a dictionary of rows, or a text with "
        "bars as in Markdown. Convert a data frame with df.to_dict('list')."
    ),
    "table.entry": (
        "{what}: a row is a “{form}”; each row must be a tuple, a list, or a dictionary with the columns as "
        "keys (row: {row})."
    ),
    "table.text": "{what}: no columns can be seen in “{value}”. Separate them by bars, as in Markdown.",
    "table.size": "{what} has more than {limit} rows.",
    "table.width": "{what}: this row has {count} entries, more than there are columns.",
    "table.twice": "{what}: this row appears more than once. Each row may appear only once.",
    "table.cell": "{what}: this entry is missing.",
    "table.choice": "{what}: this choice is not right.",
    "table.row": "{what}: there is no row “{row}”.",
    "table.fewer": "{what}: at least one row is missing. Rows that were recognised: {count}.",
    "table.order": "{what}: this row is out of order.",
    "table.extra": "{what} has rows that are not asked for ({rows}).",
    "table.own-sum": "{what}: right for your own rows, although not all of those are right.",
    "table.follows": (
        "{what}: not right, but it follows from your own shapes of the lines before, at least one of which "
        "is not right."
    ),
    "table.impossible": (
        "{what}: not right. With your own shapes of the lines before, this line would raise an error."
    ),
    "table.some": "Entries that count as right: {count} of {total}.",
}
