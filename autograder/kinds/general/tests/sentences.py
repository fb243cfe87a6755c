"""Sentences about test cells. None of them reveals the question behind a hidden test."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "tests.passed": "The test passes.",
    "tests.failed": "The test does not pass.",
    "tests.raised": "The test does not pass. {text}",
    "tests.partial": "The test gives part of the points.",
    "tests.together": "These points are given only where every test of the question passes.",
    "tests.review": "The result of this test needs manual review.",
}
