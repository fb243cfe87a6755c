"""Synthetic answers of a large class: variations of a hundred sentences."""

from __future__ import annotations

import random

_ENGLISH = (
    (
        "The mask hides later tokens",
        "Masking blocks the future positions",
        "A causal mask stops information flow",
    ),
    ("so that the model cannot copy the answer", "because training would be trivial otherwise"),
    ("and only previous words are visible", "which keeps generation consistent", "as in real decoding"),
    ("for every position.", "during training.", "at inference time."),
)
_GERMAN = (
    ("Die Maske verdeckt spätere Tokens", "Maskieren blockiert die Zukunft", "Der Decoder wird maskiert"),
    ("damit das Modell nicht abschreiben kann", "weil das Training sonst trivial wäre"),
    ("und nur vorherige Wörter sichtbar sind", "was die Ausgabe stimmig hält", "wie beim echten Erzeugen"),
    ("für jede Position.", "während des Trainings.", "beim Anwenden."),
)  # fmt: skip
_FILLERS = {
    "en": ("basically", "of course", "I think", "in general"),
    "de": ("eigentlich", "natürlich", "wohl"),
}


def phrasings() -> list[tuple[str, str]]:
    """Return a hundred sentences with their languages."""
    made = [
        (language, " ".join((first, second, third, last)))
        for language, parts in (("en", _ENGLISH), ("de", _GERMAN))
        for first in parts[0]
        for second in parts[1]
        for third in parts[2]
        for last in parts[3]
    ]
    return made[:50] + made[54:104]


def answers(count: int, seed: int = 7) -> dict[str, str]:
    """Return some number of answers by student."""
    numbers = random.Random(seed)
    known = phrasings()
    return {f"s{number:04}": _varied(*known[number % len(known)], numbers) for number in range(count)}


def _varied(language: str, text: str, numbers: random.Random) -> str:
    """Return a text with typing errors, filler words and an additional sentence."""
    words = text.split()
    for _ in range(numbers.randrange(3)):
        at = numbers.randrange(len(words))
        words[at] = _slip(words[at], numbers)
    if numbers.random() < 0.4:
        words.insert(numbers.randrange(1, len(words)), numbers.choice(_FILLERS[language]))
    if numbers.random() < 0.2:
        words.append(
            {"en": "That is the reason I would give.", "de": "Das ist meine Begründung dafür."}[language]
        )
    varied = " ".join(words)
    return varied.upper() if numbers.random() < 0.02 else varied


def _slip(word: str, numbers: random.Random) -> str:
    """Return a word with one letter missing, doubled or swapped with the next."""
    if len(word) < 5:
        return word
    at = numbers.randrange(1, len(word) - 2)
    return numbers.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        )
    )
