"""The small course in the service, for tests of its pages."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from autograder.service.postgres import EmbeddedPostgres
from tests.service import course
from tests.web.lms import CONNECT, LearningPlatform
from tests.web.people import Small, small

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord, PlatformCourse


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the small course with a release."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def at(service_course: CourseRecord, small_folder: Path) -> Small:
    """Return a new course for each test."""
    return small(service_course, small_folder)


@pytest.fixture
def lms(at: Small) -> Iterator[LearningPlatform]:
    """Provide a configured platform that identifies students by the ``lis`` claim."""
    from django.conf import settings
    from django.test import override_settings

    from autograder.web import lti

    with LearningPlatform(f"of {at.record.slug}") as platform:
        platforms = {"lms": platform.stated()}
        lti.register_platforms(platforms.values())
        with override_settings(RUNNING=replace(settings.RUNNING, platforms=platforms)):
            yield platform


@pytest.fixture
def connected(at: Small, lms: LearningPlatform) -> PlatformCourse:
    """Connect the platform's course to the course of the test, by its instructor ``prof``."""
    from autograder.service.models import PlatformCourse

    client = at.client("instructor")
    assert lms.launch(client, "prof", ("Instructor",)).headers["location"] == CONNECT
    answer = client.post(CONNECT, {"course": at.record.slug})
    assert answer.headers["location"] == f"{at.base}staff/members/"
    return PlatformCourse.objects.get(course=at.record)


@pytest.fixture(scope="module")
def address(service_database: EmbeddedPostgres) -> Iterator[str]:
    """Run the web server, and return its address."""
    from django.test import override_settings

    from autograder.web import processes

    listener = socket.create_server(("127.0.0.1", 0))
    port = int(listener.getsockname()[1])
    server = processes.create_server([listener], processes.ServiceOptions(Path(), port=port))

    def serve() -> None:
        with contextlib.suppress(OSError):  # the socket is closed below
            server.run()

    serving = threading.Thread(target=serve, daemon=True)
    with override_settings(ALLOWED_HOSTS=["127.0.0.1", "testserver"]):
        serving.start()
        yield f"http://127.0.0.1:{port}"
        server.task_dispatcher.shutdown()
        server.close()
        serving.join()
