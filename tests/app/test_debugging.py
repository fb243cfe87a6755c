"""What is handed out is the listing with all faults."""

from __future__ import annotations

import pytest
from autograder.app.debugging import difference

FAULTY = "import torch\n\n\ndef scale(x):\n    return x\n\n\ndef f(x):\n    a = x + 2\n    return scale(a)\n"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (FAULTY, ""),
        ("# faults\ndef f(x):\n    # here\n    a = (x + 2)\n    return scale(a)\n", ""),
        ("# the faulty listing comes here", "no f"),
        (FAULTY.replace("x + 2", "x + 3"), "'a = x + 3' where the listing with all faults has 'a = x + 2'"),
        (FAULTY.replace("    return scale(a)\n", ""), "'nothing more' where the listing with all faults has"),
        (FAULTY.replace("return x", "return -x"), "'return -x' where the listing with all faults has"),
        ("def f(x:\n", "no Python: line 1"),
    ],
)
def test_another_listing_is_told_by_its_first_line(given: str, told: str) -> None:
    """Comments, brackets and imports do not count; a line that is other, missing or more does."""
    found = difference(given, FAULTY)
    assert told == found if not told else told in found
