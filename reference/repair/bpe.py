"""A tokenizer by byte-pair encoding, on the characters of words."""

from collections import Counter
from itertools import pairwise


class Tokenizer:
    """Learns merges from words, and splits words by them."""

    def __init__(self, words: list[str], n_merges: int) -> None:
        self.merges: list[tuple[str, str]] = []
        counts = Counter((*word, "</w>") for word in words)
        for _ in range(n_merges):
            pairs = self.count_pairs(counts)
            if not pairs:
                break
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            self.merges.append(best)
            merged: Counter[tuple[str, ...]] = Counter()
            for symbols, count in counts.items():
                merged[tuple(self.merge(symbols, best))] += count
            counts = merged
        letters = {letter for word in words for letter in word}
        tokens = ["<unk>", "</w>", *sorted(letters), *("".join(pair) for pair in self.merges)]
        self.ids = {token: number for number, token in enumerate(dict.fromkeys(tokens))}

    def count_pairs(self, counts: Counter[tuple[str, ...]]) -> Counter[tuple[str, str]]:
        """How often each pair of neighbours occurs."""
        pairs: Counter[tuple[str, str]] = Counter()
        for symbols, count in counts.items():
            for left, right in pairwise(symbols):
                pairs[left, right] += count
        return pairs

    def merge(self, symbols: tuple[str, ...], pair: tuple[str, str]) -> list[str]:
        """The symbols with a pair put together wherever it stands, from the left."""
        merged: list[str] = []
        place = 0
        while place < len(symbols):
            if tuple(symbols[place : place + 2]) == pair:
                merged.append(symbols[place] + symbols[place + 1])
                place += 2
            else:
                merged.append(symbols[place])
                place += 1
        return merged

    def split(self, word: str) -> list[str]:
        """The tokens of a word."""
        symbols = [*word, "</w>"]
        for pair in self.merges:
            symbols = self.merge(tuple(symbols), pair)
        return symbols

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens, word by word."""
        tokens = [token for word in text.split() for token in self.split(word)]
        return [self.ids.get(token, self.ids["<unk>"]) for token in tokens]

    def decode(self, ids: list[int]) -> str:
        """The text of ids."""
        tokens = {number: token for token, number in self.ids.items()}
        return "".join(tokens[number] for number in ids).replace("</w>", " ").strip()
