"""Beam search over a table of transitions, with seven planted faults.

Most properties use two tokens and a beam that is wide enough for all sequences: what is kept does not matter
there, and only the row of the start is read.
"""

import numpy as np

from autograder.checking import assert_close, assert_equal, fault, holds, planted, probe, solution

solution("repair/beam.py")

START, END = 0, 1
NO_END = 99
"""A token that is not in the table: no sequence ends early."""


def search(student, *arguments):
    """Return tokens and score of each sequence, as plain numbers."""
    return [(tuple(map(int, tokens)), float(score)) for tokens, score in student.beam_search(*arguments)]


def search_all(student, draw, alpha):
    """Return all sequences of two tokens: the end at once, one step later, or not yet."""
    stay, end = draw.uniform(low=-3, high=-2), draw.uniform(low=-1.5, high=-0.5)
    return search(student, np.array([[stay, end], [0.0, 0.0]]), START, END, 4, 2, alpha), stay, end


@fault(
    "total + score",
    "score",
    points=1,
    title={
        "en": "A sequence's log-probabilities are added up",
        "de": "Die Log-Wahrscheinlichkeiten einer Folge werden addiert",
    },
)
def total(student, reference, draw):
    found, stay, end = search_all(student, draw, 0.0)
    for tokens, score in found:
        assert_close(score, stay * tokens[1:].count(START) + end * tokens[1:].count(END))


@fault(
    "scores[tokens[-1]]",
    "scores[tokens[0]]",
    points=1,
    title={"en": "The next token follows from the last one", "de": "Das nächste Token folgt auf das letzte"},
)
def last_token(student, reference, draw):
    """The first step costs nothing, so that the second one is the score, whether they are added or not."""
    table = draw.uniform(5, 5, low=-3, high=-1)
    table[4] = 0.0
    for tokens, score in search(student, table, 4, NO_END, 2, 2, 0.0):
        assert_close(score, table[tokens[1], tokens[2]])


@fault(
    "candidates.sort(key=lambda beam: -beam[1])",
    "candidates.sort(key=lambda beam: beam[1])",
    points=1,
    title={"en": "The best candidates are kept", "de": "Die besten Kandidaten bleiben"},
)
def worst(student, reference, draw):
    table = draw.uniform(8, 8, low=-3, high=-0.1)
    better_half = np.argsort(-table[0])[:4]
    for tokens, _ in search(student, table, 0, NO_END, 2, 1, 0.0):
        assert tokens[1] in better_half


@fault(
    "candidates[:width]",
    "candidates[: width + 1]",
    points=1,
    title={
        "en": "As many are kept as the beam is wide",
        "de": "Es bleiben so viele, wie der Beam breit ist",
    },
)
def width(student, reference, draw):
    """A single beam that ends at once is all; a second one gives something longer, which `alpha` prefers."""
    stay, end = draw.uniform(low=-3, high=-2), draw.uniform(low=-1.5, high=-0.5)
    first = [stay, end] if holds(worst) else [end, stay]
    table = np.array([first, [0.0, 0.0]])
    assert_equal([tokens for tokens, _ in search(student, table, START, END, 1, 4, 4.0)], [(START, END)])
    assert_equal(len(search(student, table, START, END, 2, 4, 4.0)), 2)


@fault(
    "finished.extend(beams)",
    "finished = finished or beams",
    points=1,
    title={"en": "Sequences without an end count as well", "de": "Auch Folgen ohne Ende zählen"},
)
def unfinished(student, reference, draw):
    found, _, _ = search_all(student, draw, 0.0)
    everything = [(START, START, START), (START, START, END), (START, END)]
    assert_equal(sorted(tokens for tokens, _ in found), everything)


@fault(
    "(len(tokens) - 1)",
    "len(tokens)",
    points=1,
    title={
        "en": "The first token does not count for the length",
        "de": "Das erste Token zählt nicht zur Länge",
    },
)
def length(student, reference, draw):
    """Compare scores with those of the same sequences that are divided by nothing."""
    alpha = draw.uniform(low=0.5, high=1.5)
    divided, whole = (dict(search_all(student, draw.restarted(), power)[0]) for power in (alpha, 0.0))
    assert_equal(divided.keys() == whole.keys(), True)
    for tokens, score in divided.items():
        assert_close(score * (len(tokens) - 1) ** alpha, whole[tokens])


@fault(
    "ranked.sort(key=lambda beam: -beam[1])",
    "ranked.reverse()",
    points=1,
    title={"en": "The best sequence stands first", "de": "Die beste Folge steht zuerst"},
)
def ranking(student, reference, draw):
    """With a negative power what was found first, an end at once, is the best; with a high one the worst."""
    for alpha in (-1.0, 4.0):
        scores = [score for _, score in search_all(student, draw, alpha)[0]]
        assert_equal(scores, sorted(scores, reverse=True))


@probe
def same_sequences(student, reference, draw):
    for _ in range(20):
        table = draw.uniform(6, 6, low=-4, high=-0.1)
        sizes = int(draw.integers(1, 5)), int(draw.integers(1, 7)), draw.choice([0.0, 0.6, 1.2])
        found, right = (search(names, table, 0, 3, *sizes) for names in (student, reference))
        assert_equal([tokens for tokens, _ in found], [tokens for tokens, _ in right])
        assert_close([score for _, score in found], [score for _, score in right])


planted(
    "with heaps",
    """
import heapq

def beam_search(scores, start, end, width, max_len, alpha):
    running, done = [(0.0, (start,))], []
    for step in range(max_len):
        grown = [
            (total + float(row), tokens + (token,))
            for total, tokens in running
            for token, row in enumerate(scores[tokens[-1]])
        ]
        best = heapq.nlargest(width, grown)
        done += [beam for beam in best if beam[1][-1] == end]
        running = [beam for beam in best if beam[1][-1] != end]
    rated = [(list(tokens), total / max(len(tokens) - 1, 1) ** alpha) for total, tokens in done + running]
    return heapq.nlargest(width, rated, key=lambda pair: pair[1])
""",
)
planted(
    "with arrays",
    """
import numpy as np

def beam_search(scores, start, end, width, max_len, alpha):
    paths, totals, ended = np.array([[start]]), np.zeros(1), []
    while len(paths) and paths.shape[1] <= max_len:
        sums = totals[:, None] + scores[paths[:, -1]]
        best = np.argsort(-sums, axis=None)[:width]
        before, token = np.unravel_index(best, sums.shape)
        paths, totals = np.column_stack((paths[before], token)), sums[before, token]
        ended += [(path, total) for path, total in zip(paths, totals) if path[-1] == end]
        alive = paths[:, -1] != end
        paths, totals = paths[alive], totals[alive]
    ended += zip(paths, totals)
    rated = sorted(((total / (path.size - 1) ** alpha, path.tolist()) for path, total in ended), reverse=True)
    return [(path, float(score)) for score, path in rated[:width]]
""",
)
planted(
    "always one beam",
    """
import numpy as np

def beam_search(scores, start, end, width, max_len, alpha):
    tokens, total = [start], 0.0
    while len(tokens) <= max_len and tokens[-1] != end:
        row = scores[tokens[-1]]
        tokens.append(int(row.argmax()))
        total += float(row.max())
    return [(tokens, total / (len(tokens) - 1) ** alpha)]
""",
    loses=["width", "unfinished"],
)
