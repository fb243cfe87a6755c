"""A small corpus for fine-tuning, one token a word. It stands in a locked cell of the notebook as well."""

from __future__ import annotations

SENTENCES = """
the owl counts the stars and the stars count the owl
a grey cat waits at the door until the rain is over
the rain is over and the grey cat sleeps at the door
my neighbour waters her garden before the sun is up
the sun is up and my neighbour drinks her tea
every ship that leaves the harbour takes a letter with it
a letter takes nine days from the harbour to the hill
on the hill the owl waits for a letter that never comes
"""
TEXTS = [sentence.split() for sentence in SENTENCES.strip().splitlines()]
WORDS = ["<pad>", *sorted({word for text in TEXTS for word in text})]
CORPUS = [[WORDS.index(word) for word in text] for text in TEXTS]
