"""Cache of assignments from the database, each version written to disk and loaded once."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading import assignment as assignments
from autograder.grading.assignment import Assignment

if TYPE_CHECKING:
    from autograder.service.models import Version

MOST_KEPT = 8


class AssignmentCache:
    """Cache of the most recently used assignments. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, tuple[Path, Assignment]] = OrderedDict()

    def load_assignment(self, version: Version) -> Assignment:
        """Return the assignment of a version."""
        from autograder.service import versions  # its models need the settings, which name this class

        with self._lock:
            if version.pk not in self._kept:
                folder = Path(tempfile.mkdtemp(prefix="autograder-pages-"))
                try:
                    course = versions.lay_out(version, folder)
                    self._kept[version.pk] = (folder, assignments.load_assignment(course, version.assignment))
                except BaseException:
                    shutil.rmtree(folder, ignore_errors=True)
                    raise
            self._kept.move_to_end(version.pk)
            while len(self._kept) > MOST_KEPT:
                _, (old, _) = self._kept.popitem(last=False)
                shutil.rmtree(old, ignore_errors=True)
            return self._kept[version.pk][1]

    def close(self) -> None:
        """Remove all folders."""
        with self._lock:
            for folder, _ in self._kept.values():
                shutil.rmtree(folder, ignore_errors=True)
            self._kept.clear()
