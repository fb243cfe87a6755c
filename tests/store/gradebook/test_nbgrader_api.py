"""nbgrader's database module is imported without unneeded dependencies."""

from __future__ import annotations

import subprocess
import sys


def test_server_extensions_and_converters_are_not_imported() -> None:
    """Importing them would take longer than the rest of a command."""
    asked = (
        "import sys; from autograder.store.gradebook.tables import api\n"
        "print(*{'jupyter_server', 'nbconvert', 'nbgrader.apps'} & sys.modules.keys(), api.__name__)"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ["nbgrader.api"] == told.stdout.split()


def test_grading_imports_nothing_of_pages() -> None:
    """Importing libraries for pages would take as long as the rest."""
    found = (
        "import sys, autograder.app.classes; print(*{'jinja2', 'mistune', 'doctest'} & sys.modules.keys())"
    )
    told = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert "\n" == told.stdout
