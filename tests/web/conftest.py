"""The small course in the service, for tests of its pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service import course
from tests.web.people import Small, small

if TYPE_CHECKING:
    from autograder.service.models import CourseRecord


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course in a folder, released."""
    return course.small(tmp_path_factory.mktemp("course"))


@pytest.fixture
def at(service_course: CourseRecord, small_folder: Path) -> Small:
    """A course of its own for each test."""
    return small(service_course, small_folder)
