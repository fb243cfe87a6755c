"""How much of a generated text was memorised: the answer key of the memorisation question."""

from __future__ import annotations


def memorisation(generated: list[int], corpus: list[list[int]], n: int) -> dict[str, float]:
    """Two measures of verbatim memorisation (Carlini et al., 2023, count what occurs in the training data).

    Args:
        generated: token ids, possibly none.
        corpus: texts of token ids; nothing goes over the border between two texts.
        n: at least 1.

    Returns:
        ``longest``: tokens in the longest piece of the generated text that occurs in a text of the corpus, 0
        when none occurs. ``share``: how many of the generated text's n-grams, each counted as often as it
        stands there, occur in a text of the corpus; from 0 to 1, and 0 when there is no n-gram.
    """
    longest = 0
    for text in corpus:
        run = [0] * (len(text) + 1)  # length of the common piece that ends before each token of the text
        for token in generated:
            run = [0, *(run[place] + 1 if token == other else 0 for place, other in enumerate(text))]
            longest = max(longest, *run)
    known = {tuple(text[start : start + n]) for text in corpus for start in range(len(text) - n + 1)}
    ngrams = [tuple(generated[start : start + n]) for start in range(len(generated) - n + 1)]
    share = sum(ngram in known for ngram in ngrams) / len(ngrams) if ngrams else 0.0
    return {"longest": longest, "share": share}


# Beside the function an answer has a generated text, measured with the notebook's corpus and n = 3.
report = {
    "tokens": [39, 30, 8, 39, 0, 34, 2, 39, 34, 41, 39, 31, 20, 29, 39, 31, 20, 29, 2, 39, 30, 8, 39],
    "longest": 6,
    "share": 13 / 21,
}
