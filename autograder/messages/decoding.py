"""Sentences about decoding: what an answer keeps, chooses or draws, and mistakes known by what they compute.

No sentence names a token, a number or a sequence that would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

_SEEN: Mapping[str, Text] = {
    "decoding.probabilities": {
        "en": "{what} returns probabilities; logits are asked for.",
        "de": "{what} gibt Wahrscheinlichkeiten zurück; gefragt sind Logits.",
    },
    "decoding.not-normalised": {
        "en": "{what}: a row of what you return is no probability distribution: its sum is not 1.",
        "de": "{what}: Eine Zeile der Rückgabe ist keine Wahrscheinlichkeitsverteilung: Ihre Summe ist "
        "nicht 1.",
    },
    "decoding.row-empty": {
        "en": "{what}: in a row no token is left at all.",
        "de": "{what}: In einer Zeile bleibt gar kein Token übrig.",
    },
    "decoding.kept-too-many": {
        "en": "{what} keeps {count} tokens that should be removed.",
        "de": "{what} behält {count} Token, die wegfallen sollten.",
    },
    "decoding.kept-too-few": {
        "en": "{what} removes {count} tokens too many.",
        "de": "{what} entfernt {count} Token zu viel.",
    },
    "decoding.values": {
        "en": "{what} keeps the right tokens, but {count} of {total} values are not right.",
        "de": "{what} behält die richtigen Token, aber {count} von {total} Werten stimmen nicht.",
    },
    "decoding.no-tokens": {
        "en": "{what}: whole numbers are asked for, the ids of tokens; this is “{form}”.",
        "de": "{what}: Gefragt sind ganze Zahlen, die Nummern von Token; das ist „{form}“.",
    },
    "decoding.rows": {
        "en": "{what} has the shape {shape}; a row is asked for each row that was handed in.",
        "de": "{what} hat die Form {shape}; gefragt ist eine Zeile zu jeder Zeile der Eingabe.",
    },
    "decoding.prompt-missing": {
        "en": "{what}: the new tokens are right, but the text they continue is missing in front of them.",
        "de": "{what}: Die neuen Token stimmen, aber vor ihnen fehlt der Text, den sie fortsetzen.",
    },
    "decoding.too-long": {
        "en": "{what}: row {row} is right as far as it should go, and then goes on.",
        "de": "{what}: Zeile {row} stimmt, so weit sie gehen soll, geht dann aber weiter.",
    },
    "decoding.too-short": {
        "en": "{what}: row {row} is right as far as it goes, but ends too early.",
        "de": "{what}: Zeile {row} stimmt, so weit sie geht, endet aber zu früh.",
    },
    "decoding.sequence": {
        "en": "{what}: in row {row}, the token at place {place} is another one (counted from 0).",
        "de": "{what}: In Zeile {row} ist das Token an Stelle {place} ein anderes (gezählt ab 0).",
    },
    "decoding.impossible": {
        "en": "{what}: {count} of {total} drawn tokens have the probability 0. No luck can do that.",
        "de": "{what}: {count} von {total} gezogenen Token haben die Wahrscheinlichkeit 0. Das kann kein "
        "Zufall sein.",
    },
    "decoding.not-random": {
        "en": "{what}: {total} draws always gave the same token, though others are likely, too.",
        "de": "{what}: {total} Ziehungen gaben immer dasselbe Token, obwohl auch andere wahrscheinlich sind.",
    },
    "decoding.one-draw": {
        "en": "{what}: all rows of a call got the same token. Each row needs a draw of its own.",
        "de": "{what}: Alle Zeilen eines Aufrufs bekamen dasselbe Token. Jede Zeile braucht eine eigene "
        "Ziehung.",
    },
    "decoding.distribution": {
        "en": "{what}: {total} drawn tokens do not follow the right distribution; that is not by chance.",
        "de": "{what}: {total} gezogene Token folgen nicht der richtigen Verteilung; das ist kein Zufall.",
    },
}

_FILTERS: Mapping[str, Text] = {
    "decoding.one-too-many": {
        "en": "{what} keeps one token more than k.",
        "de": "{what} behält ein Token mehr als k.",
    },
    "decoding.least-kept": {
        "en": "{what} keeps the least likely tokens instead of the most likely ones.",
        "de": "{what} behält die unwahrscheinlichsten Token statt der wahrscheinlichsten.",
    },
    "decoding.not-removed": {
        "en": "{what}: a token whose logit is set to 0 is not removed: softmax still gives it a probability.",
        "de": "{what}: Ein Token, dessen Logit 0 wird, ist nicht entfernt: Softmax gibt ihm trotzdem eine "
        "Wahrscheinlichkeit.",
    },
    "decoding.whole-batch": {
        "en": "{what} treats all rows as one. Each row is a text of its own.",
        "de": "{what} behandelt alle Zeilen wie eine. Jede Zeile ist ein eigener Text.",
    },
    "decoding.crossing-excluded": {
        "en": "{what} leaves out the token with which the mass reaches p. It belongs to the nucleus.",
        "de": "{what} lässt das Token weg, mit dem die Summe p erreicht. Es gehört zum Nucleus.",
    },
    "decoding.not-sorted": {
        "en": "{what} adds up probabilities in the order of the vocabulary, not from the most likely "
        "token on.",
        "de": "{what} summiert in der Reihenfolge des Vokabulars statt vom wahrscheinlichsten Token an.",
    },
    "decoding.order-lost": {
        "en": "{what} decides in sorted order, but applies that to the tokens in their own order.",
        "de": "{what} entscheidet in sortierter Reihenfolge, wendet das aber auf die unsortierten Token an.",
    },
    "decoding.single-threshold": {
        "en": "{what} compares every single probability with p.",
        "de": "{what} vergleicht jede einzelne Wahrscheinlichkeit mit p.",
    },
    "decoding.negative-raised": {
        "en": "{what} makes some tokens that occurred more likely: mind the sign of a logit.",
        "de": "{what} macht manche Token, die schon vorkamen, wahrscheinlicher: Das Vorzeichen des Logits "
        "zählt.",
    },
    "decoding.only-last-ngram": {
        "en": "{what} only looks at the n-gram directly before. An n-gram may not repeat from any place.",
        "de": "{what} betrachtet nur das n-Gramm direkt davor. Kein früheres n-Gramm darf sich wiederholen.",
    },
    "decoding.every-token-banned": {
        "en": "{what} bans every token that occurred, whatever stood before it.",
        "de": "{what} verbietet jedes Token, das vorkam, egal was davor stand.",
    },
    "decoding.one-too-long": {
        "en": "{what} compares n tokens instead of n − 1: the next token is the n-th one of the n-gram.",
        "de": "{what} vergleicht n Token statt n − 1: Das nächste Token ist das n-te des n-Gramms.",
    },
    "decoding.temperature-last": {
        "en": "{what} divides by the temperature after the filters. Top-p then looks at other probabilities.",
        "de": "{what} teilt erst nach den Filtern durch die Temperatur. Top-p sieht so andere "
        "Wahrscheinlichkeiten.",
    },
    "decoding.temperature-multiplied": {
        "en": "{what} multiplies with the temperature: a high one then makes the choice more certain.",
        "de": "{what} multipliziert mit der Temperatur: Eine hohe macht die Wahl so sicherer.",
    },
    "decoding.temperature-forgotten": {
        "en": "{what} does not depend on the temperature.",
        "de": "{what} hängt nicht von der Temperatur ab.",
    },
    "decoding.not-renormalised": {
        "en": "{what}: the probabilities of what is kept are those from before the filters; their sum is "
        "below 1.",
        "de": "{what}: Die Wahrscheinlichkeiten der behaltenen Token sind die von vor den Filtern; ihre "
        "Summe ist kleiner als 1.",
    },
    "decoding.top-p-first": {
        "en": "{what} applies top-p before top-k; the question asks for the other order.",
        "de": "{what} wendet Top-p vor Top-k an; gefragt ist die andere Reihenfolge.",
    },
    "decoding.not-drawn": {
        "en": "{what} takes the most likely token. Sampling draws one at random.",
        "de": "{what} nimmt das wahrscheinlichste Token. Beim Sampling wird eines zufällig gezogen.",
    },
    "decoding.uniform-over-all": {
        "en": "{what} draws every token equally often, whatever its logit.",
        "de": "{what} zieht jedes Token gleich oft, egal welchen Logit es hat.",
    },
    "decoding.uniform": {
        "en": "{what} draws all tokens that are kept equally often, whatever their probability.",
        "de": "{what} zieht alle behaltenen Token gleich oft, egal wie wahrscheinlich sie sind.",
    },
}

_SEARCHES: Mapping[str, Text] = {
    "decoding.first-row-for-all": {
        "en": "{what} chooses for the first row and gives the token to all rows.",
        "de": "{what} wählt für die erste Zeile und gibt das Token allen Zeilen.",
    },
    "decoding.mask-ignored": {
        "en": "{what} calls the model without the attention mask, so padding is read as text.",
        "de": "{what} ruft das Modell ohne die Attention-Maske auf; so wird Padding als Text gelesen.",
    },
    "decoding.other-position": {
        "en": "{what} reads the logits of another position than the last one.",
        "de": "{what} liest die Logits einer anderen Position als der letzten.",
    },
    "decoding.goes-on": {
        "en": "{what}: a row that has ended goes on with further tokens.",
        "de": "{what}: Eine Zeile, die zu Ende ist, geht mit weiteren Token weiter.",
    },
    "decoding.end-replaced": {
        "en": "{what}: the token that ends a row is replaced by padding. It still belongs to the row.",
        "de": "{what}: Das Token, das eine Zeile beendet, wird durch Padding ersetzt. Es gehört noch dazu.",
    },
    "decoding.one-beam": {
        "en": "{what} goes on with the best beam only: that is greedy search.",
        "de": "{what} verfolgt nur den besten Beam weiter: Das ist Greedy-Suche.",
    },
    "decoding.sums-forgotten": {
        "en": "{what} ranks by the last token's probability, not by that of the whole sequence.",
        "de": "{what} ordnet nach der Wahrscheinlichkeit des letzten Tokens statt der ganzen Folge.",
    },
    "decoding.logits-summed": {
        "en": "{what} adds up logits. Logits of different steps can be compared only after a log-softmax.",
        "de": "{what} summiert Logits. Logits verschiedener Schritte sind erst nach einem Log-Softmax "
        "vergleichbar.",
    },
    "decoding.penalty-forgotten": {
        "en": "{what} compares hypotheses of different lengths without the length penalty.",
        "de": "{what} vergleicht Hypothesen verschiedener Länge ohne die Length-Penalty.",
    },
    "decoding.end-ignored": {
        "en": "{what} goes on after the token that ends a hypothesis.",
        "de": "{what} geht hinter dem Token weiter, das eine Hypothese beendet.",
    },
    "decoding.first-finished": {
        "en": "{what} returns the hypothesis that ended first. A later one can have a better score.",
        "de": "{what} gibt die Hypothese zurück, die zuerst endete. Eine spätere kann besser sein.",
    },
    "decoding.ban-forgotten": {
        "en": "{what} lets n-grams repeat that are banned.",
        "de": "{what} lässt n-Gramme sich wiederholen, die verboten sind.",
    },
}

SENTENCES: Mapping[str, Text] = {**_SEEN, **_FILTERS, **_SEARCHES}
