"""Answers made from others: a slip put into a right one, and code that is up to no good."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from msgspec import Struct

from autograder.demo.formulas import Sample


class Worth(Struct, frozen=True):
    """What the automatic items of one question are worth."""

    items: Mapping[str, Decimal]

    @classmethod
    def of(cls, **items: str) -> Worth:
        """By item; a hyphen in an item's name is written as two underscores."""
        return cls({name.replace("__", "-"): Decimal(points) for name, points in items.items()})

    def right(self, *sources: str) -> tuple[Sample, ...]:
        """Answers that earn everything."""
        return tuple(Sample(source.lstrip("\n"), self.items) for source in sources)

    def wrong(self, portrait: str, source: str, **lost: str) -> Sample:
        """An answer that earns less: ``lost`` names what an item still earns."""
        earned = {item: Decimal(lost.get(item.replace("-", "__"), full)) for item, full in self.items.items()}
        return Sample(source.lstrip("\n"), earned, portrait)

    def nothing(self, portrait: str, source: str) -> Sample:
        """An answer that earns nothing."""
        return Sample(source.lstrip("\n"), dict.fromkeys(self.items, Decimal(0)), portrait)


def edited(plain: str, *changes: tuple[str, str]) -> str:
    """A right answer with something else written in it.

    Raises:
        ValueError: a text does not stand in it exactly once.
    """
    for old, new in changes:
        if plain.count(old) != 1:
            raise ValueError(f"{old!r} does not stand exactly once in the answer")
        plain = plain.replace(old, new)
    return plain


_BAD_FUNCTIONS = {
    "raises where it is called": 'raise SystemError("no answer today")',
    "leaves by SystemExit": "raise SystemExit(0)",
    "returns None": "return None",
    "returns a text": 'return "full marks"',
    "returns itself": f"return {__name__!r}.__class__",
    "returns what equals everything": (
        'return type("Anything", (), {"__eq__": lambda *_: True, "shape": (1, 1), "__hash__": None})()'
    ),
}


def hostile(name: str, worth: Worth) -> tuple[Sample, ...]:
    """Code in the place of a function or class: none of it earns anything, or stops what comes after."""
    functions = {
        portrait: f"def {name}(*_arguments, **_named):\n    {body}\n"
        for portrait, body in _BAD_FUNCTIONS.items()
    }
    cells = {
        "does not parse": f"def {name}(:\n    return\n",
        "raises while it is defined": f"raise KeyError({name!r})\n",
        "is a number": f"{name} = 100\n",
        "is torch itself": f"{name} = torch\n",
    }
    return tuple(worth.nothing(portrait, source) for portrait, source in (functions | cells).items())
