"""Sentences about sheets for marking elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

SHEETS: Mapping[str, str | tuple[str, str]] = {
    "web.sheet": "Mark elsewhere",
    "web.sheet-told": "The sheet has a row for each answer and item that people decide on. Fill in points "
    "and comments, in a spreadsheet or with a program, and send it back. The columns row and state must stay "
    "as they are.",
    "web.sheet-waiting": "Only answers that wait for a mark",
    "web.sheet-groups": "One row for all equal answers",
    "web.sheet-names": "With students' ids",
    "web.sheet-download": "Download the sheet",
    "web.sheet-choose": "The sheet with points (.csv or .jsonl)",
    "web.sheet-try": "Only show what would change",
    "web.sheet-send": "Send the sheet",
    "web.sheet-result": "The sheet that you sent",
    "web.sheet-nothing": "Nothing was entered. Put this right, and send the sheet again:",
    "web.sheet-same": "It changes nothing.",
    "web.sheet-entered": ("The mark of 1 answer was entered.", "The marks of {number} answers were entered."),
    "web.sheet-would": (
        "The mark of 1 answer would change. Nothing was entered.",
        "The marks of {number} answers would change. Nothing was entered.",
    ),
    "web.sheet-refused": "Not entered:",
    "web.sheet-of-two": "two people mark this answer, which a sheet cannot say; mark it on its page",
    "web.sheet-row": "Row",
    "web.sheet-who": "Answer",
    "web.sheet-cell": "Cell",
    "web.sheet-count": "Equal answers",
    "web.sheet-before": "Before",
    "web.sheet-none": "none",
    "web.sheet-comment": "Comment",
    "web.sheet-changed": "changed",
    "web.log-mark-sheet": "marks of a sheet entered",
}
