"""``python -m autograder.rubric schema``."""

import sys

from autograder.authoring.schema import main

sys.exit(main(sys.argv[1:]))
