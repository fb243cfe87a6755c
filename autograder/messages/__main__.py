"""``python -m autograder.messages``: brings ``locale/`` up to date with the tables of sentences.

Every language that has a file gets new sentences, to be translated, and loses those that are gone; a sentence
whose English has changed is marked as fuzzy. What has to be looked at is told. The name of a language after
the command begins its file; ``--check`` writes nothing.
"""

from __future__ import annotations

import sys

from autograder.messages.catalogue import languages, translation_file
from autograder.messages.translating import faults, unused, updated, write


def main(arguments: list[str]) -> int:
    """Update all languages and those named, and return 1 where something has to be looked at."""
    checking = "--check" in arguments
    named = [one for one in arguments if not one.startswith("-")]
    found = []
    for language in sorted({*languages(), *named} - {"en"}):
        catalogue = updated(language)
        found += [f"{language}: {fault}" for fault in faults(catalogue)]
        found += [f"{language}: {code}: no table has this sentence" for code in unused(language)]
        if not checking:
            write(catalogue, translation_file(language))
    sys.stdout.write("".join(f"{one}\n" for one in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
