"""nbgrader's gradebook as a store (`grading.store`), and the copies of submissions for nbgrader's pages.

Formgrader, ``nbgrader export`` and ``nbgrader db`` continue to work with the same database. Only this package
imports ``nbgrader.api``, which takes a third of a second to import; only `autograder.app.stores` imports this
package.
"""

from autograder.store.gradebook.autograded import (
    build_autograded_files,
    build_autograded_notebook,
    write_autograded,
)
from autograder.store.gradebook.book import Gradebook
from autograder.store.gradebook.marks import CellScore, compute_cell_scores

__all__ = [
    "CellScore",
    "Gradebook",
    "build_autograded_files",
    "build_autograded_notebook",
    "compute_cell_scores",
    "write_autograded",
]
