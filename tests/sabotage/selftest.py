"""``python -m tests.sabotage.selftest``: the self-test, whose exit codes tell a hole from a failure."""

from __future__ import annotations

import sys

from autograder.sandbox.proof import selftest

HOLE, UNABLE = 1, 3


def main() -> int:
    """Print the layers that do not hold.

    Returns:
        0 if all hold, `HOLE` if a canary found one, `UNABLE` if the sandbox did not start.
    """
    missing = [layer for layer in selftest.examine() if layer.required and not layer.ok]
    for layer in missing:
        sys.stdout.write(f"!! {layer.name}: {layer.found}\n")
    if any(layer.found == "not available" or not layer.finished for layer in missing):
        return UNABLE
    return HOLE if missing else 0


if __name__ == "__main__":
    sys.exit(main())
