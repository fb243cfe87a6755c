"""Sentences about who sees whom. No sentence says what would have been right."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "visibility.form": (
        "{what} is a “{form}”; asked for is a matrix of 0 and 1 (rows: who sees; columns: who is seen) or a "
        "list of pairs of positions, counted from 0."
    ),
    "visibility.entry": "{what}: a matrix with other entries than 0 and 1, or False and True.",
    "visibility.position": (
        "{what}: the pair {pair} names a position that does not exist; positions count from 0."
    ),
    "visibility.size": (
        "{what} has the shape {shape}; there is one row for each position that sees and one column for each "
        "that may be seen."
    ),
    "visibility.transposed": (
        "{what} is transposed: rows are the positions that see, columns those that are seen."
    ),
    "visibility.inverted": "{what} says the opposite throughout: 1 means that a position is seen.",
    "visibility.diagonal-missing": "{what}: only the diagonal is wrong; does a position see itself?",
    "visibility.one-ahead": "{what} reaches one position too far ahead.",
    "visibility.both-sides": "{what} looks to both sides alike; here before and after are not the same.",
    "visibility.everything": "{what}: here every position sees every other one; something is hidden, though.",
    "visibility.nothing": "{what}: here no position sees anything.",
    "visibility.padding-ignored": "{what}: padding is seen as if it were text.",
    "visibility.padding-rows": (
        "{what}: the rows of the padding are empty. Nobody attends to padding, but its own outputs are "
        "computed like all others."
    ),
    "visibility.one-layer": (
        "{what} is right for a single layer; a stack of layers passes on what its lower layers saw."
    ),
    "visibility.prefix-causal": (
        "{what}: the prefix is treated like the rest; within the prefix, all see one another."
    ),
    "visibility.windows-added": (
        "{what}: the window is multiplied by the number of layers; the last position of one layer's window "
        "is the first of the next one's."
    ),
    "visibility.dilation-ignored": "{what}: the window has no gaps here; a dilated one leaves positions out.",
    "visibility.window-too-wide": (
        "{what}: the window is one position too wide; it includes the position itself."
    ),
    "visibility.window-too-narrow": "{what}: the window is one position too narrow.",
    "visibility.rows": (
        "{what}: {count} of {total} rows are not right, the first of them that of position {row}."
    ),
}
