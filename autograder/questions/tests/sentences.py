"""Sentences about test cells. None of them reveals the question behind a hidden test."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "tests.passed": "The test passes.",
    "tests.failed": "The test does not pass.",
    "tests.raised": "The test does not pass. {text}",
    "tests.partial": "You earn part of the points for this test.",
    "tests.together": "You earn these points only if all tests of the question pass.",
    "tests.review": "The result of this test needs manual review.",
}
