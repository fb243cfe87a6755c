"""Task 2 (b): what was memorised."""

from autograder.checking import Wrong, assert_close, call, check, mutant, planted, solution
from reference.checks.arrays import read_array
from reference.corpus import CORPUS

solution("memorisation.py")


@check(
    points=3,
    title={"en": "The longest verbatim piece", "de": "Das längste wörtliche Stück"},
)
def longest(student, reference, draw):
    """Compare with the solution for hidden texts."""
    compare(student, reference, draw, "longest")


@check(
    points=3,
    title={
        "en": "The share of n-grams that occur in the corpus",
        "de": "Der Anteil der n-Gramme, die im Korpus vorkommen",
    },
)
def share(student, reference, draw):
    """Compare with the solution for hidden texts."""
    compare(student, reference, draw, "share")


@check(
    points=2,
    title={"en": "A text of your model, measured", "de": "Ein Text Ihres Modells, gemessen"},
)
def report(student, reference, draw):
    """Measure the reported text again."""
    stated = student.report
    tokens = read_array(stated.get("tokens"), "iu") if isinstance(stated, dict) else None
    if tokens is None or tokens.ndim != 1 or not 12 <= len(tokens) <= 4096:
        raise Wrong("12 to 4096 token ids are asked for")
    right = reference.memorisation(tokens.tolist(), CORPUS, 3)
    assert_close({name: stated.get(name) for name in right}, right, rtol=0, atol=1e-3)


def compare(student, reference, draw, measure):
    """Compare one measure of all texts at once: so a mistake is known by all of them.

    What tells distinct n-grams from all of them occurs in one text of four.
    """
    found, right = [], []
    for number in range(36):
        generated, corpus, n = draw_texts(draw, number)
        measured = call(
            student.memorisation, generated=list(generated), corpus=[list(text) for text in corpus], n=n
        )
        if not isinstance(measured, dict) or type(measured.get(measure)) in (bool, type(None), str):
            raise Wrong(f"a number is asked for under {measure!r}")
        found.append(measured[measure])
        right.append(reference.memorisation(generated, corpus, n)[measure])
    assert_close(found, right, rtol=0, atol=1e-9)


def draw_texts(draw, number):
    """Return a text in which a piece of a corpus stands, the corpus, and the size of the n-grams.

    In every fourth text the piece goes over the border of two texts, and every fourth one is too short.
    """
    corpus, n = draw.integers(1, 9, 4, 10), number % 3 + 1
    if number % 4 == 3:
        return draw.integers(1, 9, n - 1).tolist(), corpus.tolist(), n
    start = 7 if number % 4 == 1 else 10 * draw.integers(0, 4) + draw.integers(0, 5)
    generated, place = draw.integers(1, 9, 16), draw.integers(0, 11)
    generated[place : place + 6] = corpus.ravel()[start : start + 6]
    return generated.tolist(), corpus.tolist(), n


RUN = "run = [0, *(run[place] + 1 if token == other else 0 for place, other in enumerate(text))]"
KNOWN = "{tuple(text[start : start + n]) for text in corpus for start in range(len(text) - n + 1)}"
NGRAMS = "[tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)]"
ACROSS = {
    "en": "memorisation: a piece that goes over the border between two texts of the corpus is counted.",
    "de": "memorisation: Ein Stück über die Grenze zweier Texte des Korpus hinweg wird gezählt.",
}

mutant(
    "scattered",
    old=RUN,
    new="before, run = run, [0]\n            for place, other in enumerate(text):\n"
    "                run.append(before[place] + 1 if token == other else max(before[place + 1], run[place]))",
    title={
        "en": "memorisation: a piece with gaps in it is counted. A verbatim piece has none.",
        "de": "memorisation: Ein Stück mit Lücken wird gezählt. Ein wörtliches Stück hat keine.",
    },
    loses=["longest"],
)
mutant(
    "single tokens",
    old=RUN,
    new="run = [0, *(int(token == other) for other in text)]",
    title={
        "en": "memorisation: only single tokens are compared, never longer pieces.",
        "de": "memorisation: Verglichen werden nur einzelne Token, nie längere Stücke.",
    },
    loses=["longest"],
)
mutant(
    "longest across texts",
    old="    for text in corpus:\n        run",
    new="    for text in [sum(corpus, [])]:\n        run",
    title=ACROSS,
    loses=["longest"],
)
mutant(
    "distinct n-grams",
    old=NGRAMS,
    new="{tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)}",
    title={
        "en": "memorisation: an n-gram that stands in the generated text several times is counted only once.",
        "de": "memorisation: Ein n-Gramm, das im erzeugten Text mehrmals steht, wird nur einmal gezählt.",
    },
    points={"share": 1.5},
    loses=["share"],
)
mutant(
    "share across texts",
    old=KNOWN,
    new="{tuple(text[start : start + n]) for text in [sum(corpus, [])]\n"
    "             for start in range(len(text) - n + 1)}",
    title=ACROSS,
    loses=["share"],
)
mutant(
    "of the corpus",
    old="sum(ngram in known for ngram in ngrams) / len(ngrams) if ngrams else 0.0",
    new="len(known & set(ngrams)) / len(known)",
    title={
        "en": "memorisation: this is the share of the corpus's n-grams, not of those of the generated text.",
        "de": "memorisation: Das ist der Anteil an den n-Grammen des Korpus, nicht an denen des erzeugten "
        "Textes.",
    },
    loses=["share"],
)
mutant(
    "last n-gram missed",
    old=NGRAMS,
    new="[tuple(generated[start : start + n]) for start in range(len(generated) - n)]",
    title={
        "en": "memorisation: the last n-gram of the generated text is left out.",
        "de": "memorisation: Das letzte n-Gramm des erzeugten Textes fehlt.",
    },
    loses=["share"],
)
mutant("numbers of another text", old='"longest": 6', new='"longest": 7', loses=["report"])

planted(
    "every piece is tried, and no report",
    source="""
def memorisation(generated, corpus, n):
    def occurs(piece):
        return any(piece == text[i : i + len(piece)] for text in corpus for i in range(len(text)))
    pieces = [generated[i:j] for j in range(len(generated) + 1) for i in range(j)]
    grams = [piece for piece in pieces if len(piece) == n]
    return {
        "longest": max((len(piece) for piece in pieces if occurs(piece)), default=0),
        "share": sum(map(occurs, grams)) / max(len(grams), 1),
    }
""",
    loses=["report"],
)
