"""Sentences about checks in Python. None of them reveals the property that a check tests."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "code.failed": "Your answer does not meet this requirement.",
    "code.told": "Your answer is not as expected.",
    "code.file": "The file {name} could not be read. Check its format and its content.",
    "code.file-missing": "There is no file {name} beside your notebook.",
    "code.mistake": "This is a known mistake.",
    "code.carried": (
        "Right if your version of {names} is replaced by the reference solution. A mistake in your version "
        "costs no points here."
    ),
    "code.device": (
        "Your code uses a device, such as a GPU, that is not available during grading. It needs manual "
        "review."
    ),
    "code.review": "This item needs manual review.",
}
