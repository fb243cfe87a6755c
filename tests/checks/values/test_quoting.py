"""How names and values are quoted in sentences."""

from __future__ import annotations

import pytest

from autograder.checks.values.quoting import MAX_NAME, MAX_NAMES, quote_names


@pytest.mark.parametrize(
    ("names", "quoted"),
    [
        pytest.param(["W_q.weight"], "W_q.weight", id="one"),
        pytest.param(
            [f"attention.projection_{letter}.weight" for letter in "qkvo"],
            "attention.projection_q.weight, attention.projection_k.weight, "
            "attention.projection_v.weight, attention.projection_o.weight",
            id="all four are whole",
        ),
        pytest.param(
            [f"p{number}" for number in range(MAX_NAMES + 3)],
            ", ".join(f"p{number}" for number in range(MAX_NAMES)) + ", … (+3)",
            id="how many more",
        ),
    ],
)
def test_quote_names_cuts_out_no_name(names: list[str], quoted: str) -> None:
    """A student must be able to read which parameters are missing."""
    assert quoted == quote_names(names)


def test_quote_names_shortens_what_a_student_made_long() -> None:
    """Names that student code invents are bounded."""
    assert len(quote_names(["x" * 10_000] * 500)) < (MAX_NAMES + 1) * (MAX_NAME + 4)
