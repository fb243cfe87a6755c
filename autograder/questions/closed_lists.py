"""Names from a closed list as answers write them: parsing entries and normalising irrelevant differences.

The grader and the students' own check use the same code: this module is part of every ``coursecheck.py``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NamedTuple

MAX_CHOSEN = 200
MAX_TEXT = 2000
YES_NO: Mapping[str, tuple[str, ...]] = {
    "yes": ("y", "ja", "j", "true", "wahr"),
    "no": ("n", "nein", "false", "falsch"),
}
"""Preset ``yes-no``: other spellings by option."""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Answers may be in English or German, so both languages appear in all word lists below.
_SEPARATORS = re.compile(r"[,;\n]+|\s+(?:and|und)\s+")
_AROUND = " \t\r\n\"'`´“”„‘’*$.:!?()[]{}–-"
_INSIDE = re.compile(r"[\s\-_]+")
_ARTICLE = re.compile(r"(?:the|an?|der|die|das|eine?)\s+", re.IGNORECASE)
_REMARK = re.compile(r"[,;:(\n–—]|\s-\s")
"""Separator between an answer and a remark about it."""
_IN_BRACKETS = re.compile(r"\(([^()]*)\)\s*$")
_WORD = re.compile(r"[^\W_]+(?:['’]t)?")
_MOST_WORDS = 60
_LONGEST_NAME = 8
"""Longest name, in words, that is looked for in a longer text."""
# ``name = False`` is no choice of the name, but may be a mistake: such an entry is doubtful.
_SWITCHED_OFF = frozenset(("false", "0", "none", "no", "off"))
_NEGATIONS = _set_of(
    "no not none never without cannot don't doesn't isn't aren't won't can't nein nicht kein keine keinen "
    "keiner nie ohne"
)
_HEDGES = _set_of(
    "or either maybe perhaps probably possibly think guess unsure sometimes depends but except unless "
    "both oder entweder vielleicht wahrscheinlich möglicherweise glaube denke vermute manchmal aber außer "
    "sondern beides"
)
_FILLING = _set_of(
    "a an the of to in for on with from by as at it its is are be they them this that these those and all "
    "der die das den dem des ein eine einen einer eines von zu zum zur im in mit aus für auf es ist sind "
    "und als an"
)
"""Words without meaning by themselves."""


def normalize_name(text: str) -> str:
    """Return a name in normal form, without case, spaces, quotes and a value after ``=``."""
    cut = unicodedata.normalize("NFKC", text[:MAX_TEXT]).casefold().partition("=")[0]
    return _INSIDE.sub("_", cut.strip(_AROUND)).strip("_")


class NamedOption(NamedTuple):
    """Option that one entry of an answer names."""

    option: str
    """Empty if the entry names none, or if it is uncertain which."""
    is_doubtful: bool = False
    """The entry names several options, hedges, or says more than the name of one."""


class Options:
    """Options of a closed list, found by any of their names."""

    def __init__(
        self,
        option_of: Callable[[str], str],
        words_of: Callable[[str], Container[str]] = lambda _: (),
        begun: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Store the lookups.

        Args:
            option_of: maps a normal name to an option, or to an empty string.
            words_of: maps an option to words that may accompany its name without changing the meaning.
            begun: maps a word to the option that is recognised by its beginning, or to an empty string.
        """
        self._option_of = option_of
        self._words_of = words_of
        self._begun = begun

    def read_entry(self, text: str) -> NamedOption:
        """Return the option that one entry names, perhaps with a remark that does not contradict it."""
        cut = text[:MAX_TEXT]
        if normalize_name(cut.partition("=")[2]) in _SWITCHED_OFF:
            return NamedOption("", is_doubtful=True)
        # Try the strictest reading first; each later reading accepts more and therefore doubts more.
        if option := self._find_exact(cut):
            return NamedOption(option)
        before, after = _split_remark(cut)
        if option := self._find_exact(before) or self._find_exact(after):
            remark = after if self._find_exact(before) else before
            named, left = self._find_options(_split_words(remark))
            is_doubtful = any(candidate not in ("", option) for candidate in named) or any(
                word in _HEDGES for word in left
            )
            # A negation belongs to its neighbour: accept "no, not at all", but not "does not change (yes)".
            is_doubtful = is_doubtful or (remark is before and any(word in _NEGATIONS for word in left))
            return NamedOption("" if is_doubtful else option, is_doubtful)
        words = _split_words(cut)
        named, left = self._find_options(words)
        # Only without an exact name do beginnings of words count.
        if not any(named):
            named = [self._begun(word) for word in words]
            left = [words[position] for position, candidate in enumerate(named) if not candidate]
        options = set(filter(None, named))
        if len(options) != 1:
            return NamedOption("", bool(options))
        (option,) = options
        is_doubtful = any(word in _HEDGES or word in _NEGATIONS for word in left)
        is_more = any(word not in self._words_of(option) for word in left if word not in _FILLING)
        is_doubtful = is_doubtful or (is_more and not _is_head(words, named))
        return NamedOption("" if is_doubtful else option, is_doubtful)

    def _find_exact(self, text: str) -> str:
        """Return the option with exactly this name, with or without an article; empty if there is none."""
        return self._option_of(normalize_name(text)) or self._option_of(
            normalize_name(_ARTICLE.sub("", text.strip(_AROUND)))
        )

    def _find_options(self, words: list[str]) -> tuple[list[str], list[str]]:
        """Return for each word the option that it names with its neighbours, and the words that name none."""
        named, start = [""] * len(words), 0
        while start < len(words):
            # The longest name wins: "dark red" before "red".
            for end in range(min(start + _LONGEST_NAME, len(words)), start, -1):
                if option := self._option_of("_".join(words[start:end])):
                    named[start:end] = [option] * (end - start)
                    break
            else:
                end = start + 1
            start = end
        return named, [words[position] for position, option in enumerate(named) if not option]


def _is_head(words: list[str], named: list[str]) -> bool:
    """Decide whether a phrase is about the option: "summary of a text" is, "summary ranking" is not."""
    positions = [position for position, word in enumerate(words) if named[position] or word not in _FILLING]
    if named[positions[-1]]:
        return True
    last = next(position for position in positions if not named[position]) - 1
    # The name comes first, and a filling word follows ("summary of …") or the name is a gerund ("ranking …").
    return bool(named[positions[0]]) and (words[last] in _FILLING or words[positions[0]].endswith("ing"))


def _split_remark(text: str) -> tuple[str, str]:
    """Split a text into the part before a remark and the remark, or before and inside trailing brackets."""
    if brackets := _IN_BRACKETS.search(text):
        return text[: brackets.start()], brackets[1]
    mark = _REMARK.search(text.lstrip(_AROUND))
    if mark is None:
        return text, ""
    text = text.lstrip(_AROUND)
    return text[: mark.start()], text[mark.end() :]


def _split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, at most sixty."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'"))[:_MOST_WORDS]


def collect_words(names: Iterable[str]) -> frozenset[str]:
    """Return all words of some names."""
    return frozenset(word for name in names for word in _split_words(name))


def split_entries(
    value: Any, option_names: Container[str], single: Callable[[str], bool] | None = None
) -> list[str] | None:
    """Return the single entries of an answer as texts, or None if it is not a choice at all.

    Args:
        value: the answer.
        option_names: normal names of options.
        single: decides whether a text is one entry although it contains a comma; None: only if it is a name.
    """
    if value is None and "none" in option_names:  # Python's word for it
        return ["none"]
    # A dictionary such as {"a": True, "b": False} chooses the keys that are switched on.
    if isinstance(value, Mapping):
        value = [key for key, chosen in value.items() if chosen is not False and chosen is not None]
    if isinstance(value, (list, tuple)):
        texts = [_to_text(entry) for entry in value[:MAX_CHOSEN]]
        return None if None in texts else [text for text in texts if text is not None]
    text = _to_text(value)
    if text is None:
        return None
    whole = "=" not in text and normalize_name(text) in option_names  # an option's own text may hold a comma
    return (
        [text]
        if whole or (single is not None and single(text))
        else _SEPARATORS.split(text[:MAX_TEXT])[:MAX_CHOSEN]
    )


def hash_name(name: str) -> str:
    """Return the hash that replaces a name students must not read; it only reveals membership in the list."""
    return hashlib.sha256(normalize_name(name).encode()).hexdigest()[:12]


class HashedNames(Container[str]):
    """Closed list of which only the hashes are known."""

    def __init__(self, marks: Container[str]) -> None:
        self._marks = marks

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and hash_name(name) in self._marks


def _to_text(value: Any) -> str | None:
    """Return a short value as text, or None if it is no text, Boolean or small integer."""
    if isinstance(value, str):
        return value
    # Converting a huge integer takes quadratic time.
    if isinstance(value, bool) or (isinstance(value, int) and value.bit_length() < 64):
        return str(value)
    return None
