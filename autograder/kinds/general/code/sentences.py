"""Sentences about checks in Python. None of them reveals the property that a check tests."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "code.failed": "This is not the case.",
    "code.told": "The answer is not as asked.",
    "code.file": "The file {name} cannot be read: it is not what its name says.",
    "code.file-missing": "There is no file {name} beside your notebook.",
    "code.mistake": "A known mistake.",
    "code.carried": (
        "As asked, where the right {names} stands in for yours: a mistake there has cost points already."
    ),
    "code.device": "Your code asks for a device, such as a GPU, that is not there where it is graded.",
    "code.review": "This item needs manual review.",
}
