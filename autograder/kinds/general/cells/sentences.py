"""Sentences about test cells. None says what a hidden test asks."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "cells.passed": "The test passes.",
    "cells.failed": "{what}: the test does not pass.",
    "cells.raised": "{what}: the test does not pass. {text}",
    "cells.partial": "{what}: the test gives part of the points.",
    "cells.together": "These points are given only where every test of the question passes.",
    "cells.review": "A person looks at what this test says.",
}
