"""Sortable tables on pages stored as files: one small script of ours, permitted by its hash only."""

from __future__ import annotations

import base64
import hashlib

from markupsafe import Markup

from autograder.pages.feedback.render import TEMPLATES
from autograder.pages.feedback.sanitise import POLICY

SCRIPT = Markup((TEMPLATES / "sort.js").read_text("utf-8"))  # noqa: S704 - ours, and nothing is put into it
"""Sorts tables of the class ``sortable`` by a click on a heading. Without it they keep their order."""
POLICY_WITH_SORTING = (
    f"{POLICY}; script-src 'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}'"
)
"""Like `POLICY`, but this one script may run."""
