"""Write the files of the golden set: ``python -m tests.golden --write``.

Record the present verdicts. Refuse if verdicts changed while `GRADING_VERSION` and the assignments are the
same, because stored results would differ from new ones. ``--collect`` first chooses the answers again from
the trials of `verify`.
"""

from __future__ import annotations

import argparse
import sys

from autograder.grading.version import GRADING_VERSION
from tests.golden import golden_set


def main() -> int:
    """Write the requested files; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--collect", action="store_true", help="choose the answers anew, then write")
    parser.add_argument("--write", action="store_true", help="record the verdicts as they are now")
    options = parser.parse_args()
    if not (options.collect or options.write):
        parser.print_help()
        return 2
    if options.collect:
        golden_set.write_json(golden_set.ANSWERS, golden_set.collect_answers())
    found = golden_set.grade_all()
    if golden_set.VERDICTS.exists():
        recorded = golden_set.load_verdicts()
        changes = golden_set.list_changes(recorded, found)
        print("\n".join(line for lines in changes.values() for line in lines) or "no verdict changed")
        if unexplained := golden_set.find_unexplained(recorded, found):
            names = ", ".join(unexplained)
            print(
                f"nothing written: {names} changed; raise GRADING_VERSION, which is still {GRADING_VERSION}"
            )
            return 1
    golden_set.write_json(golden_set.VERDICTS, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
