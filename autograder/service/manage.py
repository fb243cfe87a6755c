"""Django's own commands, for work on the tables: ``python -m autograder.service.manage``.

AUTOGRADER_DATABASE_URL names the database; ``makemigrations`` does not connect to it.
"""

from __future__ import annotations

import os
import sys

from autograder.service import setup

if __name__ == "__main__":
    setup.configure_django(
        setup.ServiceSettings(os.environ.get("AUTOGRADER_DATABASE_URL", "postgresql:///autograder"))
    )
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
