"""The symbols a formula may use, with their other spellings."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from autograder.algebra.nodes import FUNCTIONS, Sym
from autograder.errors import RubricError
from autograder.rubric import Symbol

_SPELLING = re.compile(r"[A-Za-z\u0370-\u03ff][A-Za-z0-9\u0370-\u03ff]*(?:_[A-Za-z0-9]+)*'*")
_MARKUP = re.compile(
    r"\\(?:text|mathrm|mathit|mathsf|mathbf|mathtt|operatorname|textit|textrm|texttt|mbox)\b"
)
_DOMAINS = ("positive integer", "positive", "real")


def plain_name(spelling: str) -> str:
    r"""A name without markup: ``d_{\text{model}}`` and ``d\_{model}`` become ``d_model``."""
    name = _MARKUP.sub("", spelling).replace("\\_", "_")
    return re.sub(r"_+", "_", re.sub(r"[{}\s\\]", "", name)).strip("_")


class Vocabulary:
    """Declared symbols and their aliases.

    Attributes:
        names: every accepted spelling → the declared name.
        nodes: every accepted spelling → the symbol's tree.
        domains: declared name → ``"positive integer"``, ``"positive"`` or ``"real"``.
    """

    __slots__ = ("_run_together", "domains", "names", "nodes")

    def __init__(self, declared: Mapping[str, Symbol]) -> None:
        """Take the symbols of a rubric.

        Raises:
            RubricError: a spelling is not a name, stands for two symbols, or a domain is unknown.
        """
        names: dict[str, str] = {}
        self.domains: Mapping[str, str] = {name: symbol.domain for name, symbol in declared.items()}
        for name, symbol in declared.items():
            if symbol.domain not in _DOMAINS:
                raise RubricError(
                    f"symbol {name!r}: domain: expected one of {', '.join(_DOMAINS)}, got {symbol.domain!r}"
                )
            for spelling in (name, *symbol.aliases):
                plain = plain_name(spelling)
                if not _SPELLING.fullmatch(plain) or plain in FUNCTIONS:
                    raise RubricError(f"symbol {name!r}: {spelling!r} cannot be the name of a symbol")
                if names.setdefault(plain, name) != name:
                    raise RubricError(f"symbol {name!r}: {spelling!r} already stands for {names[plain]!r}")
        self.names: Mapping[str, str] = names
        self.nodes: Mapping[str, Sym] = {spelling: Sym(name) for spelling, name in names.items()}
        self._run_together = {form: spelling for spelling in names for form in _abbreviations(spelling)}

    def extended(self, name: str) -> Vocabulary:
        """The same symbols and one more, a positive number."""
        declared = {
            known: Symbol(domain, tuple(other for other, of in self.names.items() if of == known))
            for known, domain in self.domains.items()
        }
        return Vocabulary({**declared, name: Symbol("positive")})

    def split(self, word: str) -> list[str] | None:
        """Read ``nd`` as ``n`` times ``d``: single letters, each declared, written without a sign.

        Returns:
            The spellings; None when the word may as well be another symbol's name run together, such as
            ``dh`` beside a symbol ``d_head``.
        """
        if len(word) > 8 or word in self._run_together or not all(letter in self.names for letter in word):
            return None
        return list(word)

    def suggestion(self, word: str) -> str:
        """The declared spelling that was most likely meant; empty when none is near."""
        plain = plain_name(word)[:64]
        if plain in self._run_together:
            return self._run_together[plain]
        lower = {spelling.lower(): spelling for spelling in (*FUNCTIONS, *self.names)}
        close = difflib.get_close_matches(plain.lower(), lower, n=1, cutoff=0.6) if len(plain) > 1 else ()
        return lower[close[0]] if close else ""


def _abbreviations(spelling: str) -> Iterable[str]:
    """What a name with underscores shrinks to: ``d_head`` → ``dhead``, ``dh``."""
    parts = spelling.split("_")
    if len(parts) > 1:
        yield "".join(parts)
        yield "".join(part[:1] for part in parts)
