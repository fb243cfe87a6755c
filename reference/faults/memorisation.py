"""What people write instead of `reference.memorisation.memorisation`."""

from __future__ import annotations

from .rewrite import Edit
from .slip import Slip

_RUN = "run = [0, *(run[place] + 1 if token == other else 0 for place, other in enumerate(text))]"
_KNOWN = "{tuple(text[start : start + n]) for text in corpus for start in range(len(text) - n + 1)}"


def _slip(code: str, *edits: tuple[str, str], loses: tuple[str, ...]) -> Slip:
    made = tuple(Edit("memorisation", right, faulty) for right, faulty in edits)
    return Slip(f"{code} ({loses[0]})", made, (*loses, "report"), code)


SLIPS = (
    _slip(
        "scattered",
        (
            _RUN,
            "before = run\nrun = [0]\nfor place, other in enumerate(text):\n"
            "    run.append(before[place] + 1 if token == other else max(before[place + 1], run[place]))",
        ),
        loses=("longest",),
    ),
    _slip("single-tokens", (_RUN, "run = [0, *(int(token == other) for other in text)]"), loses=("longest",)),
    _slip(
        "across-texts",
        ("longest = 0", "longest = 0\nborders, corpus = corpus, [sum(corpus, [])]"),
        (_KNOWN, _KNOWN.replace("in corpus", "in borders")),
        loses=("longest",),
    ),
    _slip("across-texts", (_KNOWN, _KNOWN.replace("in corpus", "in [sum(corpus, [])]")), loses=("share",)),
    _slip(
        "distinct-ngrams",
        (
            "[tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)]",
            "{tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)}",
        ),
        loses=("share",),
    ),
    _slip(
        "of-the-corpus",
        (
            "sum(ngram in known for ngram in ngrams) / len(ngrams) if ngrams else 0.0",
            "len(known & set(ngrams)) / len(known)",
        ),
        loses=("share",),
    ),
    _slip(
        "last-ngram-missed",
        (
            "[tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)]",
            "[tuple(generated[start : start + n]) for start in range(len(generated) - n)]",
        ),
        loses=("share",),
    ),
)
