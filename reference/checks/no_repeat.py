"""Task 1 (c): no n-gram twice."""

from autograder.checking import call, check, mutant, planted, solution
from reference.checks.logits import assert_filtered, draw_logits

solution("decoding.py")


@check(
    points=4,
    title={
        "en": "Exactly those tokens are banned that would complete an n-gram a second time",
        "de": "Genau die Token sind verboten, die ein n-Gramm zum zweiten Mal vollenden würden",
    },
)
def exact(student, reference, draw):
    """Compare with the solution for bigrams, trigrams, single tokens, and texts shorter than n."""
    for _ in range(3):
        for n, rows, n_vocab, length in ((2, 3, 6, 12), (3, 3, 4, 30), (1, 2, 9, 5), (5, 2, 9, 2)):
            logits = draw_logits(draw, rows, n_vocab)
            tokens = draw.integers(0, min(n_vocab, 4) if n > 1 else n_vocab, rows, length)
            expected = reference.no_repeat_ngram(logits, tokens, n)
            actual = call(student.no_repeat_ngram, logits=logits.clone(), tokens=tokens.clone(), n=n)
            assert_filtered(actual, expected)


mutant(
    "only the last n-gram",
    old="if past[start : start + n - 1] == last:",
    new="if start == len(past) - n and past[start : start + n - 1] == last:",
    title={
        "en": "no_repeat_ngram only looks at the n-gram directly before. An n-gram may not repeat from any "
        "place.",
        "de": "no_repeat_ngram betrachtet nur das n-Gramm direkt davor. Kein früheres n-Gramm darf sich "
        "wiederholen.",
    },
)
mutant(
    "every token banned",
    old="if past[start : start + n - 1] == last:",
    new="if True:",
    title={
        "en": "no_repeat_ngram bans every token that occurred, whatever stood before it.",
        "de": "no_repeat_ngram verbietet jedes Token, das vorkam, egal was davor stand.",
    },
)
mutant(
    "one too long",
    edits=[
        ("past[len(past) - n + 1 :]", "past[len(past) - n :]"),
        ("for start in range(len(past) - n + 1):", "for start in range(len(past) - n):"),
        ("past[start : start + n - 1] == last", "past[start : start + n] == last"),
        ("allowed[row, past[start + n - 1]]", "allowed[row, past[start + n]]"),
    ],
    title={
        "en": "no_repeat_ngram compares n tokens instead of n − 1: the next token is the n-th one of the "
        "n-gram.",
        "de": "no_repeat_ngram vergleicht n Token statt n − 1: Das nächste Token ist das n-te des n-Gramms.",
    },
    points={"exact": 2},
)
mutant(
    "whole batch",
    old="allowed[row, past[start + n - 1]]",
    new="allowed[:, past[start + n - 1]]",
    title={
        "en": "no_repeat_ngram treats all rows as one. Each row is a text of its own.",
        "de": "no_repeat_ngram behandelt alle Zeilen wie eine. Jede Zeile ist ein eigener Text.",
    },
)

planted(
    "in a dictionary, with a large negative number",
    source="""
def no_repeat_ngram(logits, tokens, n):
    for row, past in enumerate(tokens.tolist()):
        followers = {}
        for end in range(n - 1, len(past)):
            followers.setdefault(tuple(past[end - n + 1 : end]), []).append(past[end])
        for token in followers.get(tuple(past[len(past) - n + 1 :]), []):
            logits[row, token] = -1e12
    return logits
""",
)
