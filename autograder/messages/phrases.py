"""Words inside of sentences: in the place of what a page does not repeat, and for calls of a class."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "phrase.exception": "an exception",
    "phrase.left-out": "(left out)",
    "phrase.other-class": "object of another class",
    "phrase.something-else": "something else",
    "phrase.reading-parameters": "Reading the parameters of {name}",
    "phrase.pass": "A pass of {name}",
}
