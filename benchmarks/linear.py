"""Find functions that take quadratic time: `python benchmarks/linear.py [NAME …]`.

Each function of the trusted side that is given a student's text is tried with many kinds of text, each a
small piece repeated, bare and after the beginning of something longer. Four times the text may take about
four times the processor time. If a function cuts first, the longest text that it looks at is tried in full.
The exit status is 1 if a function takes much longer.
"""

# ruff: noqa: SLF001 - patterns are tried alone

from __future__ import annotations

import argparse
import contextlib
import gc
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from autograder.core.errors import AutograderError
from autograder.core.images import build_image_uri
from autograder.notebook import cell_preparation, document, duplicate_cells, language, student_texts
from autograder.pages.feedback import sanitise
from autograder.questions import closed_lists
from autograder.questions.base.judging import forbidden
from autograder.questions.base.values import literal, prose, quoting
from autograder.questions.base.values import tables as reading
from autograder.sandbox.exchange import wire
from autograder.store.gradebook import autograded

MORE_TEXT = 4
"""How many times longer the second text is."""
RATIO = 9
"""Four times the time, and what a busy machine adds; what grows with the square takes 16 times."""
NEGLIGIBLE = 0.03
"""Seconds below which no ratio is looked at."""
SLOWEST = 6
"""Of how many pieces the ratio is looked at in any case."""
MUCH = 2
"""Times the usual, beyond which it is looked at for every piece."""
NAMES = closed_lists.Options(
    lambda name: "a" if name == "a" else "", begun=lambda word: "x" if word == "x" else ""
)
COLUMNS = reading.Columns({"name": (), "count": ()}), reading.Columns({"name": (), "count": (), "shape": ()})

PIECES = (
    *("a", "a ", "\u0316\u0301", "\u0301", "é", "ﷺ", "½", "²", "\u200b", "\U0001f600", "\ud800", "‘", "x."),
    *("*", "* ", "*a", "a*", "`", "``", "```\n", "~~~", "_", "__", "|", "| a ", "- ", "# ", "#", "\\", "\\("),
    *("(", ")", "()", "[", "](", "((1,", "{", "}", "{,}", "<", "<b>", "<ul><li>", "<p></b>", "<td a=1 "),
    *("<!--", "<b a ", "<b a='", "&", "&lt;", "$", "$$", "=", "a = ", "a:", "\x1b[", "\x1b]", "\x1b", "\r"),
    *(
        "\n",
        "\r\n",
        "\t",
        " ",
        "  ",
        " \n",
        ",",
        ", ",
        "1,",
        "1.",
        "1 x",
        "!",
        "'",
        '"',
        "%",
        "and ",
        " und ",
    ),
    *("the ", "O(", "import ", "torch.", "torch ", "import compile", "sum(", "\\frac{", "\\left(", "not "),
    *("lambda x:", "-x"),
)
AROUND = (("", ""), ("a", ")"), ("(", "b"))

FUNCTIONS: Mapping[str, tuple[Callable[[str], Any], int]] = {
    "visible": (sanitise.to_printable_text, 40_000),
    "visible, long": (lambda text: sanitise.to_printable_text(text, 200_000), 100_000),
    "clean_html": (sanitise.clean_html, 90_000),
    "table_document": (sanitise.build_table_document, 90_000),
    "image_uri": (lambda text: build_image_uri("image/png", text), 400_000),
    "same_form": (prose.to_canonical, 40_000),
    "unwritten": (prose.is_unwritten_text, 10_000),
    "words": (prose.list_words, 10_000),
    "spans": (lambda text: prose.find_spans(text, ["a *", "the import", "*x*"]), 10_000),
    "quote": (quoting.quote_text, 200_000),
    "name of a closed list": (closed_lists.normalize_name, 2000),
    "entries of a closed list": (lambda text: closed_lists.split_entries(text, {"a"}), 2000),
    "option of a closed list": (NAMES.read_entry, 2000),
    "table of two columns": (lambda text: reading.read_table(text, COLUMNS[0]), 19_000),
    "table of three columns": (lambda text: reading.read_table(text, COLUMNS[1]), 19_000),
    "column": (reading.normalise_name, 200_000),
    "Markdown": (autograded.sanitise_markdown, 100_000),
    "comment": (sanitise.escape_markup, 16_000),
    "strings of a notebook": (lambda text: document._STRING.sub("", text), 400_000),
    "strings of a reply": (lambda text: wire.count_values(text.encode(errors="replace")), 400_000),
    "canonical": (document.normalize_source, 200_000),
    "formulas": (duplicate_cells._FORMULA.findall, 200_000),
    "words in a row": (student_texts._WORDS_APART.findall, 200_000),
    "ends of lists": (student_texts._END_OF_LIST.findall, 200_000),
    "comments in code": (student_texts._COMMENT.findall, 200_000),
    "names with values": (student_texts._ASSIGNED.findall, 200_000),
    "fences": (cell_preparation._FENCED.findall, 200_000),
    "assignments": (duplicate_cells._ASSIGNMENT.findall, 200_000),
    "language of a cell": (
        lambda text: language.select_language(text, ("en", "de"), "de", "a cell"),
        200_000,
    ),
    "magics": (lambda text: literal._MAGIC.sub("", text), 32_000),
    "syntax": (literal.find_syntax_fault, 32_000),
    "code": (literal.parse_code, 32_000),
    "forbidden names": (lambda text: forbidden.find_mentions("softmax\n" + text, "f", ("softmax",)), 31_000),
}


def build_text(piece: str, around: tuple[str, str], length: int) -> str:
    """Return a piece repeated to a length, and what stands around it."""
    return around[0] + piece * (length // len(piece)) + around[1]


def measure_seconds(function: Callable[[str], Any], text: str, tries: int = 2) -> float:
    """Return the least processor time of some runs; an error that is foreseen is an answer, too."""
    found = []
    for _ in range(tries):
        started = time.thread_time()
        with contextlib.suppress(AutograderError, RecursionError, UnicodeEncodeError):
            function(text)
        found.append(time.thread_time() - started)
        if found[0] < NEGLIGIBLE:
            break
    return min(found)


def measure_growth(function: Callable[[str], Any], short: str, long: str) -> float:
    """Return how much longer the second text takes; the least of three tries if it is much."""
    found = []
    for _ in range(3):
        found.append(measure_seconds(function, long) / max(measure_seconds(function, short), 1e-6))
        if found[-1] <= RATIO:
            break
    return min(found)


def find_slow_pieces(function: Callable[[str], Any], length: int) -> dict[str, float]:
    """Return the pieces for which time grows much faster than the text, and by which factor.

    The ratio is looked at for the slowest pieces, and for all that take much longer than the others do.
    """
    taken = {
        (piece, around): measure_seconds(function, build_text(piece, around, 2 * length), tries=1)
        for piece in PIECES
        for around in AROUND
    }
    usual = statistics.median(taken.values())
    order = sorted(taken, key=taken.__getitem__, reverse=True)
    slow = {}
    for number, (piece, around) in enumerate(order):
        cost = taken[piece, around]
        if cost > NEGLIGIBLE and (number < SLOWEST or cost > MUCH * usual):
            short, long = (build_text(piece, around, size) for size in (2 * length // MORE_TEXT, 2 * length))
            if (grown := measure_growth(function, short, long)) > RATIO:
                slow[around[0] + piece] = round(grown, 1)
    return slow


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(FUNCTIONS)}")
    names = parser.parse_args().names or list(FUNCTIONS)
    gc.collect()
    gc.freeze()  # the garbage collector takes no time for what is imported
    found = {name: find_slow_pieces(*FUNCTIONS[name]) for name in names}
    for name, slow in found.items():
        print(f"{name}: {slow or 'linear'}")
    sys.exit(any(found.values()))


if __name__ == "__main__":
    main()
