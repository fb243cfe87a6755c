"""What people write instead of `reference.memorisation.memorisation`."""

from __future__ import annotations

from .misconception import Misconception
from .rewrite import Edit

_RUN = "run = [0, *(run[place] + 1 if token == other else 0 for place, other in enumerate(text))]"
_KNOWN = "{tuple(text[start : start + n]) for text in corpus for start in range(len(text) - n + 1)}"


def _misconception(code: str, *edits: tuple[str, str], loses: tuple[str, ...]) -> Misconception:
    made = tuple(Edit("memorisation", right, faulty) for right, faulty in edits)
    return Misconception(f"{code} ({loses[0]})", made, (*loses, "report"), code)


MISCONCEPTIONS = (
    _misconception(
        "scattered",
        (
            _RUN,
            "before = run\nrun = [0]\nfor place, other in enumerate(text):\n"
            "    run.append(before[place] + 1 if token == other else max(before[place + 1], run[place]))",
        ),
        loses=("longest",),
    ),
    _misconception(
        "single-tokens", (_RUN, "run = [0, *(int(token == other) for other in text)]"), loses=("longest",)
    ),
    _misconception(
        "across-texts",
        ("longest = 0", "longest = 0\nborders, corpus = corpus, [sum(corpus, [])]"),
        (_KNOWN, _KNOWN.replace("in corpus", "in borders")),
        loses=("longest",),
    ),
    _misconception(
        "across-texts", (_KNOWN, _KNOWN.replace("in corpus", "in [sum(corpus, [])]")), loses=("share",)
    ),
    _misconception(
        "distinct-ngrams",
        (
            "[tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)]",
            "{tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)}",
        ),
        loses=("share",),
    ),
    _misconception(
        "of-the-corpus",
        (
            "sum(ngram in known for ngram in ngrams) / len(ngrams) if ngrams else 0.0",
            "len(known & set(ngrams)) / len(known)",
        ),
        loses=("share",),
    ),
    _misconception(
        "last-ngram-missed",
        (
            "[tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)]",
            "[tuple(generated[start : start + n]) for start in range(len(generated) - n)]",
        ),
        loses=("share",),
    ),
)
