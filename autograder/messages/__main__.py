"""``python -m autograder.messages``: updates ``locale/`` from the tables of sentences.

New sentences are added to the file of every language for translation, and removed sentences are deleted from
it; a sentence is marked as fuzzy if its English text has changed. The program lists everything that needs
attention, and then exits with 1.
"""

from __future__ import annotations

import argparse
import sys

from autograder.messages.translation_files import TranslationFiles, find_faults


def main(arguments: list[str] | None = None) -> int:
    """Update the files of all existing languages and of those on the command line."""
    parser = argparse.ArgumentParser(prog="python -m autograder.messages", description=__doc__)
    parser.add_argument("language", nargs="*", help="begins the file of a language, such as fr")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    book = TranslationFiles()
    problems = []
    for language in sorted({*book.list_languages(), *options.language}):
        catalogue = book.update_catalogue(language)
        problems += [f"{language}: {fault}" for fault in find_faults(catalogue)]
        problems += [f"{language}: {code}: no table has this sentence" for code in book.find_unused(language)]
        if not options.check:
            book.write_catalogue(catalogue, language)
    sys.stdout.write("".join(f"{problem}\n" for problem in problems))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
