"""What validate prints: how many points the answer key says something about."""

from __future__ import annotations

from decimal import Decimal

import pytest

from autograder.app.preparing import Validated, VerifyFinding
from autograder.cli import report

FINDING = VerifyFinding("answer key", "q.item", "2 points", "0 points", "correct the key")
EVERYTHING = "the answer key scores all automatic points"
SHOWN = {
    "everything": ((), 10, 10, EVERYTHING, "ps1: 10 of 10 points are decided automatically."),
    "a part": (
        (),
        2,
        10,
        EVERYTHING,
        "ps1: 2 of 10 points are decided automatically; 8 need manual marking.",
    ),
    "nothing": ((), 0, 10, "", "ps1: 0 of 10 points are decided automatically; 10 need manual marking."),
    "half points": ((), 2, "2.5", EVERYTHING, "ps1: 2 of 2.5 points are decided automatically; 0.5 need"),
    "findings": ((FINDING,), 10, 10, "", "ps1: 10 of 10 points are decided automatically."),
}


@pytest.mark.parametrize(("findings", "automatic", "possible", "key", "decided"), SHOWN.values(), ids=SHOWN)
def test_validation_says_what_is_decided_automatically(
    findings: tuple[VerifyFinding, ...],
    *,
    automatic: int,
    possible: float | str,
    key: str,
    decided: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A key of which people mark most is not said to score everything."""
    found = Validated(findings, (), (), Decimal(automatic), Decimal(possible))
    report.show_validation("ps1", found)
    said = capsys.readouterr().out
    assert decided in said
    assert (EVERYTHING in said) == bool(key)
