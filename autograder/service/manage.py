"""Django's own commands for those who work on the tables: ``python -m autograder.service.manage``.

The database is named by AUTOGRADER_DATABASE_URL; ``makemigrations`` asks for none.
"""

from __future__ import annotations

import os
import sys

from autograder.service import setup

if __name__ == "__main__":
    setup.configure(setup.Wanted(os.environ.get("AUTOGRADER_DATABASE_URL", "postgresql:///autograder")))
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
