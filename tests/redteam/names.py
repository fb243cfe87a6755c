"""Names of students that attack spreadsheets, terminals, paths, queries, or readers."""

from __future__ import annotations

import unicodedata

NAMES: tuple[tuple[str, str, bool], ...] = (
    ("a formula", '=HYPERLINK("https:example.org","x")', False),
    ("a sum", "+1+1", False),
    ("an option", "-rf", False),
    ("a function", "@SUM(1)", False),
    ("a tab and a formula", "\t=1+1", False),
    ("a line break and a log line", "x\n2026-01-01 INFO graded p000", False),
    ("terminal codes", "\x1b[31mred\x1b]0;owned\x07", False),
    ("text that runs the other way", "\u202e000p", False),
    ("a zero-width twin of a classmate", "p0\u200b00", False),
    ("a Cyrillic twin of a classmate", "\u0440000", True),
    ("a capital twin of a classmate", "P000", True),
    ("a twin with a space", "p000 ", False),
    ("composed letters", unicodedata.normalize("NFC", "zo\u00eb"), True),
    ("decomposed letters", unicodedata.normalize("NFD", "zo\u00eb"), True),
    ("two hundred letters", "z" * 200, False),
    ("markup of tables", "[bold]x[bold]", True),
    ("a closing tag of markup", "[／]x[]", True),
    ("a tag", "<b onclick=alert(1)>x", False),
    ("a quote of a query", "x'; DROP TABLE grade; --", True),
    ("a backslash", "..\\..\\p000", False),
    ("a pattern", "p*", True),
    ("a format", "%s%n{0.__class__}", True),
    ("a command", "$(touch owned)`id`", False),
    ("bytes that are no text", "z\udcff\udcfe", False),
)
"""Title, name, and whether it is a valid id; an invalid one is reported and not graded."""
