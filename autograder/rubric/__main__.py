"""``python -m autograder.rubric schema``."""

import sys

from autograder.schema import main

sys.exit(main(sys.argv[1:]))
