"""``python -m autograder.messages``: updates ``locale/`` from the tables of sentences.

New sentences are added to the file of every language for translation, and removed sentences are deleted from
it;
a sentence is marked as fuzzy if its English text has changed. The program lists everything that needs
attention,
and then exits with 1.
"""

from __future__ import annotations

import argparse
import sys

from autograder.messages.translating import Book, faults


def main(arguments: list[str] | None = None) -> int:
    """Update the files of all existing languages and of those on the command line."""
    parser = argparse.ArgumentParser(prog="python -m autograder.messages", description=__doc__)
    parser.add_argument("language", nargs="*", help="begins the file of a language, such as fr")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--of", metavar="MODULE", default="", help="the table of another package's kind")
    asked = parser.parse_args(arguments)
    book = Book(asked.of)
    found = []
    for language in sorted({*book.languages(), *asked.language}):
        catalogue = book.updated(language)
        found += [f"{language}: {fault}" for fault in faults(catalogue)]
        found += [f"{language}: {code}: no table has this sentence" for code in book.unused(language)]
        if not asked.check:
            book.write(catalogue, language)
    sys.stdout.write("".join(f"{one}\n" for one in found))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
