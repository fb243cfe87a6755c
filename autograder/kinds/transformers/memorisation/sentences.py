"""Sentences about how much of a text was memorised."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "memorisation.entry": "{what}: a number is asked for under “{entry}”.",
    "memorisation.longest": "{what}: the longest verbatim piece has another length.",
    "memorisation.share": "{what}: the share of n-grams that occur is another one.",
    "memorisation.report": "{what}: a dictionary with the generated token ids under “tokens” is asked for.",
    "memorisation.report-length": (
        "{what}: the generated text is too short: tokens in it: {count}; asked for: at least {least}."
    ),
    "memorisation.report-numbers": "{what}: the numbers are not those of the text that is given with them.",
    "memorisation.scattered": "{what}: a piece with gaps in it is counted. A verbatim piece has none.",
    "memorisation.single-tokens": "{what}: only single tokens are compared, never longer pieces.",
    "memorisation.across-texts": (
        "{what}: a piece that goes over the border between two texts of the corpus is counted."
    ),
    "memorisation.distinct-ngrams": (
        "{what}: an n-gram that stands in the generated text several times is counted only once."
    ),
    "memorisation.of-the-corpus": (
        "{what}: this is the share of the corpus's n-grams, not of those of the generated text."
    ),
    "memorisation.last-ngram-missed": "{what}: the last n-gram of the generated text is left out.",
}
