"""What a class writes where a person reads: comments on strategies, and reports, in any language."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "strategies": (
        "1. A phrase that was just written is likely again, and both searches take the likeliest; banning n-grams helps. "
        "2. Sampling varies but makes mistakes; top-k cuts at a number, top-p at a mass. "
        "3. longest = 11, share = 0.75 for greedy, 2 and 0 for sampling without a filter. 4. Beams for the manual, top-p for the story. "
        "5. The searches repeat themselves to the letter, since nothing is drawn; sampling does so only with the same seed.",
        "1. Weil das Wahrscheinlichste sich selbst wiederholt; dagegen hilft no_repeat. 2. Sampling ist bunter. "
        "3. Greedy schreibt den Korpus ab, das zeigt longest = 11. 4. Beam-Suche für die Anleitung, Sampling für die Geschichte.",
        "Η άπληστη αναζήτηση επαναλαμβάνεται, επειδή παίρνει πάντα την πιο πιθανή λέξη. Με top-p το κείμενο αλλάζει.",
        "Top-p is the best strategy because everybody uses it.",
    ),
    "report": (
        "I trained the tiny GPT-2 with AdamW for 10 and for 100 steps of four sentences. Loss 3.1, then 0.24; longest 2, then 11; share 0, then 0.75. "
        "Restored after 50 steps, the losses were equal to the last bit. Few texts, seen often, are learned by heart; a paraphrase would not be counted.",
        "Das Modell hat den Korpus nach 50 Durchgängen auswendig gelernt (Anteil 0.75). Mit mehr Daten wäre das anders.",
        "Εκπαίδευσα το μοντέλο για 50 εποχές και έμαθε τις προτάσεις απ' έξω.",
        "The loss went down.",
    ),
}
"""By cell: in English, German and Greek, good and poor."""
