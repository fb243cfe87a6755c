"""From a learning platform into the service, in a real browser for which the two are different sites."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.thorough import rotating
from tests.web.browser.reader import Reader
from tests.web.lms import LearningPlatform
from tests.web.people import Small

pytestmark = pytest.mark.apart


def follows(one: Reader, lms: LearningPlatform, who: str, *roles: str) -> None:
    """Somebody of the platform follows the link there, and is sent through both of its forms."""
    lms.person, lms.roles = who, roles
    one.page.goto(f"{lms.address}/start?service={one.address}")
    for _ in range(2):
        with one.page.expect_navigation():
            one.page.get_by_role("button", name="Go on").click()


@pytest.mark.parametrize("language", rotating(["en", "de"], 2))
def test_from_the_first_link_to_a_course(
    at: Small, lms: LearningPlatform, reader: Callable[..., Reader], language: str
) -> None:
    """An instructor who is signed in connects, and stays signed in; a student follows the same link."""
    staff = reader(locale=language)
    staff.is_known(at, "instructor")
    follows(staff, lms, "prof", "Instructor")
    staff.looks("connect")
    staff.send()
    assert staff.page.url == f"{staff.address}{at.base}staff/members/"
    staff.looks("members with a platform")
    one = reader(locale=language)
    follows(one, lms, "ada", "Learner")
    assert one.page.url == f"{one.address}{at.base}"
    one.page.reload()
    assert one.page.url == f"{one.address}{at.base}"
    one.looks("course by a launch")
    staff.goto(f"{at.base}staff/a/{at.offer.assignment}/")
    staff.looks("assignment with a platform")
