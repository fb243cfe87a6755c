"""nbgrader's database module is imported without what it does not need here."""

from __future__ import annotations

import subprocess
import sys

_IMPORTED = """
import sys
from autograder.gradebook.nbgrader_api import api
print(*[name for name in ("requests", "setuptools", "nbformat", "nbgrader.utils") if name in sys.modules])
print(api.utils.parse_utc("2031-02-03 04:05 UTC"))
import requests, nbgrader.utils
print(requests.__file__ is not None, nbgrader.utils is sys.modules["nbgrader.utils"], api.utils.__name__)
"""


def test_modules_for_other_work_come_when_they_are_used() -> None:
    """They are not there after the import, nbgrader can use them all the same, and others get them real."""
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _IMPORTED], capture_output=True, text=True, check=True
    )
    assert ["", "2031-02-03 04:05:00", "True True nbgrader.utils"] == told.stdout.splitlines()


def test_grading_imports_nothing_of_pages() -> None:
    """What only pages are made of would take as long to import as the rest."""
    found = (
        "import sys, autograder.app.classes; print(*{'jinja2', 'mistune', 'doctest'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert "\n" == told.stdout
