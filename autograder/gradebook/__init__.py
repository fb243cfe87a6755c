"""nbgrader's gradebook, and what nbgrader's own pages show of a submission.

Written are ``auto_score``, ``needs_manual_grade`` and ``auto_comment``; ``manual_score``, ``extra_credit``
and ``manual_comment`` belong to the human graders: only their own list of decisions is entered there, where
nobody has given anything. Formgrader, ``nbgrader export``
and ``nbgrader db`` go on working with the same database. Only this package imports ``nbgrader.api``, which
takes more than a second to import: the command line imports this package when it needs it.
"""

from autograder.gradebook.autograded import autograded_notebook, write_autograded
from autograder.gradebook.book import Gradebook
from autograder.gradebook.decisions import Decision, read_decisions
from autograder.gradebook.marks import CellScore, cell_scores
from autograder.gradebook.roster import Student, read_bonus, read_roster

__all__ = [
    "CellScore",
    "Decision",
    "Gradebook",
    "Student",
    "autograded_notebook",
    "cell_scores",
    "read_bonus",
    "read_decisions",
    "read_roster",
    "write_autograded",
]
