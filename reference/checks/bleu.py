"""BLEU of a corpus with seven planted faults.

All properties look at the score alone. But for n-grams and the mean, single words are counted, and it does
not matter whether the last word of a sentence counts.
"""

from __future__ import annotations

from math import exp, isclose, sqrt

from autograder.checking import Wrong, assert_close, assert_equal, fault, holds, planted, probe, solution

solution("repair/bleu.py")


def score(student, *sentences, longest=1):
    """Return the score of pairs of a candidate and its references."""
    bleu = student.Bleu(longest)
    for candidate, references in sentences:
        bleu.add(list(candidate), [list(reference) for reference in references])
    return bleu.score()


def draw_words(draw, count):
    """Return different words."""
    return [f"w{number}" for number in (100 + draw.permutation(count)).tolist()]


@fault(
    old="len(words) - n + 1",
    new="len(words) - n",
    points=1,
    title={"en": "The last n-gram counts", "de": "Das letzte N-Gramm zählt"},
)
def ngrams(student, reference, draw):
    """Check with sentences whose last words alone are the same."""
    *words, other = draw_words(draw, 5)
    assert_close(score(student, (words[2:], [[other, words[3]]])), 1 / 2)
    for longest in (2, 3):
        similar = [other] * (4 - longest) + words[4 - longest :]
        if score(student, (words, [similar]), longest=longest) == 0:
            raise Wrong(f"the last {longest} words are not found")


@fault(
    old="(abs(len(one) - len(candidate)), len(one))",
    new="len(one)",
    points=1,
    title={
        "en": "The reference of the nearest length is compared",
        "de": "Verglichen wird die Referenz mit der nächsten Länge",
    },
)
def nearest(student, reference, draw):
    """Check that references of other lengths, neither longer nor shorter ones, change nothing.

    If only the words of the first or the last reference count, one of the two orders shows it.
    """
    words = draw_words(draw, 12)
    candidate, near = words[:6], words[:7]
    alone = score(student, (candidate, [near]))
    for other in (words[:2], words):
        scores = [score(student, (candidate, both)) for both in ([other, near], [near, other])]
        agree = [isclose(found, alone) for found in scores]
        if not (all(agree) if holds(references) else any(agree)):
            raise Wrong(f"{scores} beside a reference of {len(other)} words, {alone} without it")


@fault(
    old="most |= self.ngrams(reference, n)",
    new="most = self.ngrams(reference, n)",
    points=1,
    title={"en": "All references count", "de": "Alle Referenzen zählen"},
)
def references(student, reference, draw):
    """Check that a candidate is right whose words stand here or there."""
    words = draw_words(draw, 8)
    candidate, others = words[:4], words[4:]
    first, second = candidate[:2] + others[:2], candidate[2:] + others[2:]
    for both in ([first, second], [second, first]):
        assert_close(score(student, (candidate, both)), 1.0)


@fault(
    old="min(count, most[gram])",
    new="count * (gram in most)",
    points=1,
    title={
        "en": "An n-gram counts no more often than in a reference",
        "de": "Ein N-Gramm zählt nicht öfter als in einer Referenz",
    },
)
def clipped(student, reference, draw):
    """Check that a word once more is like a word that stands nowhere, but not one that stands there twice."""
    known, other, last, *unknown = draw_words(draw, 6)
    similar = [known, known, other, other, last]
    assert_close(score(student, (similar, [similar])), 1.0)
    repeated = score(student, ([known] * 4 + [last], [similar]))
    assert_close(repeated, score(student, ([known] * 2 + unknown[:2] + [last], [similar])))


@fault(
    old="self.reference_length += len(nearest)",
    new="self.reference_length = len(nearest)",
    points=1,
    title={"en": "All sentences count", "de": "Alle Sätze zählen"},
)
def corpus(student, reference, draw):
    """Check that a sentence twice scores as it does once, and that the order does not matter.

    The length of the reference is between one and two candidates': a lost one is seen even if the penalty is
    turned over.
    """
    words = draw_words(draw, 9)
    sentence, other = (words[:4], [words[:6]]), (words[:5], [words[:9]])
    assert_close(score(student, sentence, sentence), score(student, sentence))
    assert_close(score(student, sentence, other), score(student, other, sentence))


@fault(
    old="1 - self.reference_length / self.length",
    new="1 - self.length / self.reference_length",
    points=1,
    title={
        "en": "Short candidates are punished, long ones are not",
        "de": "Kurze Kandidaten werden bestraft, lange nicht",
    },
)
def brevity(student, reference, draw):
    """Check a short candidate, and that a long one scores as beside a reference of its own length."""
    words = draw_words(draw, 9)
    assert_close(score(student, (words[:4], [words[:6]])), exp(1 - 6 / 4))
    similar = [*words[:3], words[6]]
    alone = score(student, (words[:6], [[*words[7:], *similar]]))
    assert_close(score(student, (words[:6], [similar])), alone)


@fault(
    old="sum(logs) / self.longest",
    new="sum(logs)",
    points=1,
    title={
        "en": "The geometric mean of all lengths is taken",
        "de": "Das geometrische Mittel aller Längen wird genommen",
    },
)
def mean(student, reference, draw):
    """Check a candidate of whose words all are found, and half of the pairs."""
    words = draw_words(draw, 81)
    turned = words[:41] + words[79:40:-1] + words[80:]
    found = score(student, (words, [turned]), longest=2)
    if abs(found - sqrt(1 / 2)) > 0.02:  # one pair more or less makes 0.01
        raise Wrong(f"{found}, expected about {sqrt(1 / 2)}: the mean of 1 and 1/2")


@probe
def same_scores(student, reference, draw):
    """Compare with the solution's scores of random sentences."""

    def sentence(low, high):
        return [draw.choice("abc") for _ in range(draw.integers(low, high))]

    for longest in (2, 4):
        pairs = [(sentence(4, 9), [sentence(4, 12) for _ in range(3)]) for _ in range(3)]
        assert_close(score(student, *pairs, longest=longest), score(reference, *pairs, longest=longest))
    assert_equal(score(student, ("ab", ["ba"]), longest=2), 0.0)


planted(
    "sentences are kept, and nothing is counted before the score",
    source="""
from collections import Counter
import numpy as np

class Bleu:
    def __init__(self, longest=4):
        self.longest, self.pairs = longest, []

    def add(self, candidate, references):
        self.pairs.append((candidate, references))

    def score(self):
        found, total = np.zeros(self.longest), np.zeros(self.longest)
        c = r = 0
        for candidate, references in self.pairs:
            c += len(candidate)
            r += sorted((abs(len(ref) - len(candidate)), len(ref)) for ref in references)[0][1]
            for n in range(self.longest):
                grams = lambda words: Counter(zip(*(words[k:] for k in range(n + 1))))
                mine, theirs = grams(candidate), [grams(ref) for ref in references]
                found[n] += sum(min(mine[gram], max(one[gram] for one in theirs)) for gram in mine)
                total[n] += max(len(candidate) - n, 0)
        if not found.all():
            return 0.0
        factor = 1.0 if c > r else float(np.exp(1 - r / c))
        return factor * float(np.prod(found / total) ** (1 / self.longest))
""",
)
planted(
    "ties of lengths by the order of the references, a penalty with a condition",
    source="""
import math

class Bleu:
    def __init__(self, longest=4):
        self.orders = {n: [0, 0] for n in range(1, longest + 1)}
        self.lengths = [0, 0]

    @staticmethod
    def grams(words, n):
        return [" ".join(words[i : i + n]) for i in range(len(words) + 1 - n)]

    def add(self, candidate, references):
        self.lengths[0] += len(candidate)
        self.lengths[1] += min(map(len, references), key=lambda length: abs(length - len(candidate)))
        for n, counts in self.orders.items():
            mine = self.grams(candidate, n)
            counts[1] += len(mine)
            for gram in set(mine):
                counts[0] += min(mine.count(gram), max(self.grams(ref, n).count(gram) for ref in references))

    def score(self):
        total = 0.0
        for found, counted in self.orders.values():
            if not found:
                return 0.0
            total += math.log(found / counted) / len(self.orders)
        mine, theirs = self.lengths
        return math.exp(total) * (math.exp(1 - theirs / mine) if mine < theirs else 1)
""",
)
planted(
    "lengths and counts of the last sentence alone",
    source="""
from math import exp, log

class Bleu:
    def __init__(self, longest=4):
        self.longest = longest

    def add(self, candidate, references):
        self.length = len(candidate)
        self.nearest = min((abs(len(one) - self.length), len(one)) for one in references)[1]
        self.logs = []
        for n in range(1, self.longest + 1):
            def grams(words):
                return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
            mine = grams(candidate)
            found = sum(
                min(mine.count(gram), max(grams(one).count(gram) for one in references)) for gram in set(mine)
            )
            self.logs.append(log(found / len(mine)) if found else -1e9)

    def score(self):
        return exp(sum(self.logs) / self.longest + min(0, 1 - self.nearest / self.length))
""",
    loses=["corpus"],
)
