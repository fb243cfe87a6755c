"""A tokenizer by byte-pair encoding with seven planted faults.

What was learnt is seen from how words are split. Letters are drawn in alphabetical order: of pairs that occur
equally often the first in the word is merged, whether ties go by the alphabet or by what comes first.
"""

from __future__ import annotations

from autograder.checking import Unclear, Wrong, assert_equal, fault, holds, planted, probe, solution

solution("repair/bpe.py")

END = "</w>"


def draw_letters(draw, count):
    """Return different letters in alphabetical order."""
    return sorted("abcdefghijklmnopqrstuvwxyz"[place] for place in draw.permutation(26)[:count])


def find_ids(tokenizer, letters):
    """Return the ids of single letters and of the end of a word, for a tokenizer without merges."""
    ids = [tokenizer.encode(letter) for letter in letters]
    if holds(word_end):
        return [first for first, _ in ids], ids[0][1]
    table = getattr(tokenizer, "ids", None)
    if table is None:
        raise Unclear("words have no end when they are split, and there is no table of ids")
    return [own[0] for own in ids], table[END]


@fault(
    old="+= count\n        return pairs",
    new="+= 1\n        return pairs",
    points=1,
    title={
        "en": "A word that occurs more often counts more",
        "de": "Ein Wort, das öfter vorkommt, zählt mehr",
    },
)
def counted_once(student, reference, draw):
    """Check that the first merge is another one if another word is repeated."""
    first, second = ("".join(draw_letters(draw, 4))[at : at + 2] for at in (0, 2))
    merged = [
        [word in tokenizer.split(word) for word in (first, second)]
        for tokenizer in (
            student.Tokenizer([first, second, second], 1),
            student.Tokenizer([first, first, second], 1),
        )
    ]
    if merged[0] == merged[1]:
        raise Wrong(f"whichever is repeated, {[first, second]} are merged: {merged[0]}")


@fault(
    old="(-pairs[pair], pair)",
    new="(pairs[pair], pair)",
    points=1,
    title={"en": "The most frequent pair is merged", "de": "Das häufigste Paar wird verschmolzen"},
)
def rarest(student, reference, draw):
    """Check a pair that stands twice in a word, and not first."""
    a, b, c = draw_letters(draw, 3)
    tokens = student.Tokenizer([a + b + c + b + c], 1).split(b + c)
    if b + c not in tokens:
        raise Wrong(f"{b + c} is split into {tokens}")


@fault(
    old="place += 2",
    new="place += 1",
    points=1,
    title={
        "en": "What has been merged is not merged again with its neighbour",
        "de": "Was verschmolzen ist, verschmilzt nicht noch einmal mit dem Nachbarn",
    },
)
def overlap(student, reference, draw):
    """Check that the tokens make up the word after one merge, apart from its end."""
    a, b = draw_letters(draw, 2)
    for learnt, word in ((a + b, a + b), (a + b, b + a + b + a + b + a), (4 * a, 5 * a)):
        tokens = student.Tokenizer([learnt], 1).split(word)
        letters = [letter for letter in "".join(tokens).replace(END, "") if letter in word]
        assert_equal("".join(letters), word)


@fault(
    old="in self.merges:\n            symbols",
    new="in reversed(self.merges):\n            symbols",
    points=1,
    title={
        "en": "Merges are used in the order in which they were learnt",
        "de": "Verschmolzen wird in der Reihenfolge, in der gelernt wurde",
    },
)
def merge_order(student, reference, draw):
    """Check that a pair with the result of an earlier merge is merged as well."""
    word = "".join(draw_letters(draw, 3))
    tokens = student.Tokenizer([word], 2).split(word)
    if len(tokens[0]) < len(word):
        raise Wrong(f"{word} is split into {tokens} after two merges")


@fault(
    old='[*word, "</w>"]',
    new="[*word]",
    points=1,
    title={
        "en": "Words that are split have an end as well",
        "de": "Auch Wörter, die zerlegt werden, haben ein Ende",
    },
)
def word_end(student, reference, draw):
    """Check without any merge."""
    letters = draw_letters(draw, 3)
    assert_equal(list(student.Tokenizer(["".join(letters)], 0).split("".join(letters))), [*letters, END])


@fault(
    old='self.ids.get(token, self.ids["<unk>"])',
    new="self.ids.get(token, 1)",
    points=1,
    title={
        "en": "Unknown letters have an id of their own",
        "de": "Unbekannte Buchstaben haben eine eigene Nummer",
    },
)
def unknown(student, reference, draw):
    """Check that two unknown letters have one id, and that this is no id of something else."""
    *known, first, second = draw_letters(draw, 5)
    tokenizer = student.Tokenizer(["".join(known)], 0)
    ids, end = find_ids(tokenizer, known)
    of_unknown = {tokenizer.encode(letter)[0] for letter in (first, second)}
    if len(of_unknown) != 1 or of_unknown & {*ids, end}:
        raise Wrong(f"unknown letters: {of_unknown}; others: {ids}, the end of a word: {end}")


@fault(
    old='"</w>", " "',
    new='"</w>", ""',
    points=1,
    title={
        "en": "A text that is decoded has spaces between its words",
        "de": "Ein Text hat nach dem Dekodieren Leerzeichen zwischen den Wörtern",
    },
)
def spaces(student, reference, draw):
    """Check two words, whose ends are put in by hand."""
    letters = draw_letters(draw, 3)
    tokenizer = student.Tokenizer(letters, 0)
    (a, b, c), end = find_ids(tokenizer, letters)
    assert_equal(tokenizer.decode([a, b, end, c, end]), f"{letters[0]}{letters[1]} {letters[2]}")


@probe
def same_tokens(student, reference, draw):
    """Compare with the solution's tokens of random words, and what comes of them."""
    known = ["low", "lower", "slower", "aaaa", "aaa", "rows", "swore", "loss"]
    for merges in (3, 9):
        words = [draw.choice(known) for _ in range(12)]
        text = " ".join(draw.choice(["slow", "rower", "aaaaa", "ox", "sss"]) for _ in range(6))
        mine, right = (names.Tokenizer(words, merges) for names in (student, reference))
        assert_equal(
            [list(mine.split(word)) for word in text.split()], [right.split(word) for word in text.split()]
        )
        assert_equal(mine.decode(mine.encode(text)), right.decode(right.encode(text)))


planted(
    "words are texts with spaces, and ids are places in a list",
    source="""
import re

class Tokenizer:
    def __init__(self, words, n_merges):
        self.rules = []
        corpus = [" ".join([*word, "</w>"]) for word in words]
        for _ in range(n_merges):
            counts = {}
            for text in corpus:
                symbols = text.split()
                for pair in zip(symbols, symbols[1:]):
                    counts[pair] = counts.get(pair, 0) + 1
            if not counts:
                break
            most = max(counts.values())
            best = min(pair for pair, count in counts.items() if count == most)
            self.rules.append(best)
            corpus = [self.apply(text, best) for text in corpus]
        self.vocabulary = sorted({*"".join(words), "</w>"} | {a + b for a, b in self.rules}) + ["<unk>"]

    def apply(self, text, pair):
        return re.sub(r"(?<!\\S)" + re.escape(" ".join(pair)) + r"(?!\\S)", lambda _: "".join(pair), text)

    def split(self, word):
        text = " ".join(word) + " </w>"
        for pair in self.rules:
            text = self.apply(text, pair)
        return text.split()

    def encode(self, text):
        last = len(self.vocabulary) - 1
        return [
            self.vocabulary.index(token) if token in self.vocabulary else last
            for word in text.split() for token in self.split(word)
        ]

    def decode(self, ids):
        return " ".join("".join(self.vocabulary[one] for one in ids).split("</w>")).strip()
""",
)
planted(
    "merges by rank, the pair that is met first among equals",
    source="""
from collections import Counter

class Tokenizer:
    def __init__(self, words, n_merges):
        self.ranks, self.ids = {}, {"<unk>": 0, "</w>": 1}
        corpus = [[*word, "</w>"] for word in words]
        for letter in "".join(words):
            self.ids.setdefault(letter, len(self.ids))
        while len(self.ranks) < n_merges:
            pairs = Counter(pair for symbols in corpus for pair in zip(symbols, symbols[1:]))
            if not pairs:
                break
            pair = pairs.most_common(1)[0][0]
            self.ranks[pair] = len(self.ranks)
            self.ids.setdefault("".join(pair), len(self.ids))
            for symbols in corpus:
                self.join(symbols, pair)

    def join(self, symbols, pair):
        i = 0
        while i + 1 < len(symbols):
            if (symbols[i], symbols[i + 1]) == pair:
                symbols[i : i + 2] = ["".join(pair)]
            i += 1

    def split(self, word):
        symbols = [*word, "</w>"]
        while known := [pair for pair in zip(symbols, symbols[1:]) if pair in self.ranks]:
            self.join(symbols, min(known, key=self.ranks.get))
        return symbols

    def encode(self, text):
        return [self.ids.get(token, 0) for word in text.split() for token in self.split(word)]

    def decode(self, ids):
        names = list(self.ids)
        return "".join(names[one] for one in ids).replace("</w>", " ").rstrip()
""",
)
