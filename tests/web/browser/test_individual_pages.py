"""The card of an assignment with individual notebooks in a real browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.service.test_individual import grade_waiting
from tests.support import small_course
from tests.web.browser.reader import Reader
from tests.web.people import Small
from tests.web.test_individual import at, hand_in

__all__ = ["at"]

pytestmark = pytest.mark.apart


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("de", "dark")])
def test_together_and_alone(at: Small, reader: Callable[..., Reader], language: str, scheme: str) -> None:
    """The card shows shared and individual files before and after the submission."""
    visitor = reader(locale=language, color_scheme=scheme)
    visitor.is_known(at, student="bob")
    place = f"{at.base}a/{small_course.NAME}/"
    visitor.goto(place)
    visitor.looks(f"alone-before-{scheme}")
    hand_in(at, "ada", "formulas", "code")
    hand_in(at, "bob", "code")
    grade_waiting(at.offer)
    visitor.goto(place)
    visitor.looks(f"alone-after-{scheme}")
    visitor.goto(f"{place}1/")
    visitor.looks(f"alone-attempt-{scheme}")
