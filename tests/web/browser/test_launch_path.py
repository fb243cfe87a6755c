"""Launches from a learning platform in a real browser, which treats both as different sites."""

from __future__ import annotations

from collections.abc import Callable

import jwt
import pytest

from tests.support.thorough import rotating
from tests.web.browser.reader import Reader
from tests.web.lms import ABSENT, LTI, LearningPlatform
from tests.web.people import Small

pytestmark = pytest.mark.apart


def follows(visitor: Reader, lms: LearningPlatform, who: str, *roles: str) -> None:
    """Follow the link on the platform, and confirm both forms of the launch."""
    lms.person, lms.roles = who, roles
    visitor.page.goto(f"{lms.address}/start?service={visitor.address}")
    for _ in range(2):
        with visitor.page.expect_navigation():
            visitor.page.get_by_role("button", name="Go on").click()


@pytest.mark.parametrize("language", rotating(["en", "de"], 2))
def test_from_the_first_link_to_a_course(
    at: Small, lms: LearningPlatform, reader: Callable[..., Reader], language: str
) -> None:
    """A signed-in instructor connects the course and stays signed in; a student uses the same link."""
    staff = reader(locale=language)
    staff.is_known(at, "instructor")
    follows(staff, lms, "prof", "Instructor")
    staff.looks("connect")
    staff.send()
    assert staff.page.url == f"{staff.address}{at.base}staff/members/"
    staff.looks("members with a platform")
    visitor = reader(locale=language)
    follows(visitor, lms, "ada", "Learner")
    assert visitor.page.url == f"{visitor.address}{at.base}"
    visitor.page.reload()
    assert visitor.page.url == f"{visitor.address}{at.base}"
    visitor.looks("course by a launch")
    staff.goto(f"{at.base}staff/a/{at.offer.assignment}/")
    staff.looks("assignment with a platform")


def test_chosen_assignments_come_back_to_the_platform(
    at: Small, lms: LearningPlatform, reader: Callable[..., Reader]
) -> None:
    """The browser returns the selected links automatically, as the page's policy allows."""
    staff = reader()
    staff.is_known(at, "instructor")
    follows(staff, lms, "prof", "Instructor")
    staff.send()
    at.offer.visible = True
    at.offer.save()
    lms.claims = {
        f"{LTI}/message_type": "LtiDeepLinkingRequest",
        f"{LTI}/resource_link": ABSENT,
        "https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings": {
            "deep_link_return_url": f"{lms.address}/chosen",
            "accept_types": ["ltiResourceLink"],
            "accept_presentation_document_targets": ["window"],
        },
    }
    follows(staff, lms, "prof", "Instructor")
    staff.looks("choice of links")
    staff.page.get_by_label(at.offer.title).check()
    staff.page.get_by_role("button").click()
    staff.page.wait_for_url(f"{lms.address}/chosen")
    [item] = jwt.decode(lms.chosen, options={"verify_signature": False})[
        "https://purl.imsglobal.org/spec/lti-dl/claim/content_items"
    ]
    assert item["custom"] == {"assignment": at.offer.assignment}


def test_the_page_of_platforms(at: Small, reader: Callable[..., Reader]) -> None:
    """The page shows a platform that waits for confirmation, and a new registration address."""
    from django.utils import timezone
    from lti_tool.models import LtiRegistration

    from autograder.service.models_results import PlatformRegistration

    waiting = LtiRegistration.objects.create(
        name="moodle.example.org",
        issuer=f"https://{at.record.slug}.example.org",
        client_id="c-1",
        auth_url="https://moodle.example.org/mod/lti/auth.php",
        token_url="https://moodle.example.org/mod/lti/token.php",
        keyset_url="https://moodle.example.org/mod/lti/certs.php",
        is_active=False,
    )
    waiting.deployments.create(deployment_id="1")
    PlatformRegistration.objects.create(
        digest=at.record.slug, expires_at=timezone.now(), registration=waiting
    )
    visitor = reader(locale="de")
    visitor.is_known(at, "superuser")
    visitor.goto("/app/platforms/")
    visitor.press("Registrierungsadresse erstellen")
    visitor.looks("platforms")
