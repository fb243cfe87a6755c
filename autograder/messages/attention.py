"""Sentences about an attention class: what its results are the results of."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

SENTENCES: Mapping[str, Text] = {
    "attention.no-scaling": {
        "en": "{what}: the scores are not divided by the square root of d_head.",
        "de": "{what}: die Scores werden nicht durch die Wurzel von d_head geteilt.",
    },
    "attention.scale-width": {
        "en": "{what}: the scores are scaled by the width of the model instead of the width of one head.",
        "de": "{what}: skaliert wird mit der Breite des Modells statt mit der Breite eines Kopfes.",
    },
    "attention.scale-inverted": {
        "en": "{what}: the scores are multiplied by the square root of d_head instead of divided.",
        "de": "{what}: die Scores werden mit der Wurzel von d_head multipliziert statt durch sie geteilt.",
    },
    "attention.scale-root": {
        "en": "{what}: the scores are divided by d_head itself, not by its square root.",
        "de": "{what}: die Scores werden durch d_head selbst geteilt, nicht durch die Wurzel daraus.",
    },
    "attention.scale-late": {
        "en": "{what}: the scaling comes after the softmax instead of before it.",
        "de": "{what}: skaliert wird nach dem Softmax statt davor.",
    },
    "attention.softmax-queries": {
        "en": "{what}: the softmax runs over the queries instead of the keys.",
        "de": "{what}: der Softmax läuft über die Queries statt über die Keys.",
    },
    "attention.softmax-heads": {
        "en": "{what}: the softmax runs over the heads instead of the keys.",
        "de": "{what}: der Softmax läuft über die Köpfe statt über die Keys.",
    },
    "attention.softmax-batch": {
        "en": "{what}: the softmax runs over the batch: the output of one sequence depends on the others.",
        "de": "{what}: der Softmax läuft über den Batch: die Ausgabe einer Sequenz hängt von den anderen ab.",
    },
    "attention.no-softmax": {
        "en": "{what}: the scores are used as weights without a softmax.",
        "de": "{what}: die Scores dienen ohne Softmax als Gewichte.",
    },
    "attention.causal": {
        "en": "{what}: later positions stay hidden although no mask was given.",
        "de": "{what}: spätere Positionen bleiben verborgen, obwohl keine Maske gegeben war.",
    },
    "attention.one-head": {
        "en": "{what}: the heads make no difference: there is one attention over the whole width.",
        "de": "{what}: die Köpfe machen keinen Unterschied: es gibt eine Attention über die ganze Breite.",
    },
    "attention.heads-averaged": {
        "en": "{what}: all heads use the same weights, the average of their own.",
        "de": "{what}: alle Köpfe verwenden dieselben Gewichte, den Durchschnitt der eigenen.",
    },
    "attention.first-head": {
        "en": "{what}: the result is made of the first head alone.",
        "de": "{what}: das Ergebnis besteht allein aus dem ersten Kopf.",
    },
    "attention.heads-mean": {
        "en": "{what}: the heads' results are averaged instead of put side by side.",
        "de": "{what}: die Ergebnisse der Köpfe werden gemittelt statt nebeneinandergestellt.",
    },
    "attention.split": {
        "en": "{what}: splitting into heads mixes the positions: the result is that of one reshape to "
        "(batch, heads, length, d_head), where the axes of length and heads have to be exchanged afterwards.",
        "de": "{what}: das Aufteilen auf Köpfe mischt die Positionen: heraus kommt das Ergebnis eines "
        "einzigen reshape auf (batch, heads, length, d_head); Länge und Köpfe sind erst danach zu tauschen.",
    },
    "attention.merge": {
        "en": "{what}: merging the heads mixes the positions: the result is that of a reshape without "
        "exchanging the axes of heads and length before.",
        "de": "{what}: das Zusammenführen der Köpfe mischt die Positionen: heraus kommt das Ergebnis eines "
        "reshape, vor dem die Achsen von Köpfen und Länge nicht getauscht wurden.",
    },
    "attention.split-merge": {
        "en": "{what}: splitting into heads and merging them mix the positions: in both, a reshape stands "
        "where two axes have to be exchanged.",
        "de": "{what}: das Aufteilen auf Köpfe und das Zusammenführen mischen die Positionen: beide Male "
        "steht ein reshape, wo zwei Achsen zu tauschen sind.",
    },
    "attention.split-axes": {
        "en": "{what}: splitting into heads takes the axes in a wrong order.",
        "de": "{what}: das Aufteilen auf Köpfe nimmt die Achsen in falscher Reihenfolge.",
    },
    "attention.merge-axes": {
        "en": "{what}: merging the heads puts the axes in a wrong order.",
        "de": "{what}: das Zusammenführen der Köpfe stellt die Achsen in eine falsche Reihenfolge.",
    },
    "attention.split-batch": {
        "en": "{what}: splitting into heads mixes the sequences of the batch with one another.",
        "de": "{what}: das Aufteilen auf Köpfe mischt die Sequenzen des Batches untereinander.",
    },
    "attention.merge-batch": {
        "en": "{what}: merging the heads mixes the sequences of the batch: another axis stands where the "
        "batch belongs, as after exchanging batch and heads.",
        "de": "{what}: das Zusammenführen der Köpfe mischt die Sequenzen des Batches: wo der Batch "
        "hingehört, steht eine andere Achse, wie nach einem Tausch von Batch und Köpfen.",
    },
    "attention.interleaved": {
        "en": "{what}: a head works on features that lie n_heads apart; its features are consecutive ones.",
        "de": "{what}: ein Kopf arbeitet auf Merkmalen im Abstand n_heads; seine Merkmale stehen "
        "nebeneinander.",
    },
    "attention.interleaved-split": {
        "en": "{what}: splitting gives a head features that lie n_heads apart instead of consecutive ones.",
        "de": "{what}: das Aufteilen gibt einem Kopf Merkmale im Abstand n_heads statt aufeinanderfolgender.",
    },
    "attention.interleaved-merge": {
        "en": "{what}: merging interleaves the heads' results, feature by feature, instead of putting them "
        "side by side.",
        "de": "{what}: das Zusammenführen verschränkt die Ergebnisse der Köpfe Merkmal für Merkmal, statt "
        "sie nebeneinanderzustellen.",
    },
    "attention.key-reshape": {
        "en": "{what}: the keys are reshaped where their last two axes have to be exchanged: that mixes "
        "positions and features.",
        "de": "{what}: die Keys werden mit reshape umgeformt, wo ihre letzten zwei Achsen zu tauschen sind: "
        "das mischt Positionen und Merkmale.",
    },
    "attention.one-sequence": {
        "en": "{what}: the output of one sequence depends on another of the batch, the first one.",
        "de": "{what}: die Ausgabe einer Sequenz hängt von einer anderen des Batches ab, der ersten.",
    },
    "attention.residual": {
        "en": "{what}: the query is added to the result.",
        "de": "{what}: die Query wird zum Ergebnis addiert.",
    },
    "attention.activation": {
        "en": "{what}: the projections are followed by an activation; they are meant to be linear.",
        "de": "{what}: auf die Projektionen folgt eine Aktivierung; sie sollen linear sein.",
    },
    "attention.query-value": {
        "en": "{what}: the queries are made of the values.",
        "de": "{what}: die Queries entstehen aus den Values.",
    },
    "attention.query-key": {
        "en": "{what}: query and key are taken for one another.",
        "de": "{what}: Query und Key sind vertauscht.",
    },
    "attention.key-value": {
        "en": "{what}: key and value are taken for one another.",
        "de": "{what}: Key und Value sind vertauscht.",
    },
    "attention.value-key": {
        "en": "{what}: the values are made of the keys.",
        "de": "{what}: die Values entstehen aus den Keys.",
    },
    "attention.query-from-key": {
        "en": "{what}: the queries are made of the keys' argument.",
        "de": "{what}: die Queries entstehen aus dem Argument für die Keys.",
    },
    "attention.key-query": {
        "en": "{what}: the keys are made of the query argument.",
        "de": "{what}: die Keys entstehen aus dem Argument für die Queries.",
    },
    "attention.key-from-value": {
        "en": "{what}: the keys are made of the values' argument.",
        "de": "{what}: die Keys entstehen aus dem Argument für die Values.",
    },
    "attention.value-query": {
        "en": "{what}: the values are made of the query argument.",
        "de": "{what}: die Values entstehen aus dem Argument für die Queries.",
    },
    "attention.self-only": {
        "en": "{what}: queries, keys and values are all made of the query argument: this is self-attention "
        "only.",
        "de": "{what}: Queries, Keys und Values entstehen alle aus dem Argument query: das ist nur "
        "Self-Attention.",
    },
    "attention.arguments": {
        "en": "{what}: several of queries, keys and values are made of another argument than their own.",
        "de": "{what}: mehrere von Queries, Keys und Values entstehen aus einem fremden Argument.",
    },
    "attention.shared-weights": {
        "en": "{what}: at least two of query, key and value are projected with the same weights.",
        "de": "{what}: mindestens zwei von Query, Key und Value werden mit denselben Gewichten projiziert.",
    },
    "attention.not-projected": {
        "en": "{what}: query, key or value is used without its projection.",
        "de": "{what}: Query, Key oder Value wird ohne Projektion verwendet.",
    },
    "attention.no-output": {
        "en": "{what}: the heads' results do not go through the output projection.",
        "de": "{what}: die Ergebnisse der Köpfe gehen nicht durch die Ausgabeprojektion.",
    },
    "attention.mask-ignored": {
        "en": "{what}: the mask changes nothing.",
        "de": "{what}: die Maske ändert nichts.",
    },
    "attention.mask-inverted": {
        "en": "{what}: the mask is taken the other way round.",
        "de": "{what}: die Maske wird andersherum verstanden.",
    },
    "attention.mask-late": {
        "en": "{what}: the mask comes after the softmax: the weights no longer sum to one.",
        "de": "{what}: die Maske kommt nach dem Softmax: die Gewichte ergeben nicht mehr eins.",
    },
    "attention.mask-multiplied": {
        "en": "{what}: a blocked score becomes zero, and so still gets weight.",
        "de": "{what}: ein gesperrter Score wird null und bekommt so weiterhin Gewicht.",
    },
    "attention.mask-high": {
        "en": "{what}: blocked scores become very large: exactly the blocked keys are seen.",
        "de": "{what}: gesperrte Scores werden sehr groß: gesehen werden gerade die gesperrten Keys.",
    },
    "attention.mask-weak": {
        "en": "{what}: blocked scores are not small enough: blocked keys still get weight.",
        "de": "{what}: gesperrte Scores sind nicht klein genug: gesperrte Keys bekommen weiterhin Gewicht.",
    },
    "attention.mask-added": {
        "en": "{what}: the mask is added to the scores as it is: that moves them by 1 and blocks nothing.",
        "de": "{what}: die Maske wird so, wie sie ist, zu den Scores addiert: das verschiebt sie um 1 und "
        "sperrt nichts.",
    },
    "attention.mask-transposed": {
        "en": "{what}: the mask's last axis is taken for the queries; it is that of the keys.",
        "de": "{what}: die letzte Achse der Maske wird für die der Queries gehalten; sie ist die der Keys.",
    },
    "attention.mask-first": {
        "en": "{what}: all sequences are given the mask of the first one.",
        "de": "{what}: alle Sequenzen bekommen die Maske der ersten.",
    },
    "attention.mask-kept": {
        "en": "{what}: in a second call of the same object, which had no mask, the mask of the first call "
        "was still applied.",
        "de": "{what}: in einem zweiten Aufruf desselben Objekts, der keine Maske hatte, wirkte noch die "
        "Maske des ersten.",
    },
    "attention.second-call": {
        "en": "{what}: this call was right, and a second one of the same object, without a mask and with "
        "other inputs of the same sizes, was wrong.",
        "de": "{what}: dieser Aufruf war richtig; ein zweiter desselben Objekts, ohne Maske und mit anderen "
        "Eingaben derselben Größen, war falsch.",
    },
    "attention.parts": {
        "en": "{what}: {count} parts were returned, as a tuple or list; the result alone is asked for.",
        "de": "{what}: zurückgegeben wurden {count} Teile als Tupel oder Liste; verlangt ist das Ergebnis "
        "allein.",
    },
    "attention.state": {
        "en": "{what}: equal calls differ although the random numbers of Python, NumPy and PyTorch began "
        "equally: something is kept from one call to the next, or drawn from a source of its own.",
        "de": "{what}: gleiche Aufrufe ergeben Verschiedenes, obwohl die Zufallszahlen von Python, NumPy "
        "und PyTorch gleich begannen: etwas bleibt von einem Aufruf zum nächsten zurück, oder der Zufall "
        "kommt aus einer eigenen Quelle.",
    },
    "attention.unexplained": {
        "en": "{what}: with no assignment of the parameters to query, key, value and output are the results "
        "those of attention in several heads.",
        "de": "{what}: bei keiner Zuordnung der Parameter zu Query, Key, Value und Ausgabe sind die "
        "Ergebnisse die einer Attention mit mehreren Köpfen.",
    },
    "attention.convention": {
        "en": "{what}: the mask does not act as the question states it.",
        "de": "{what}: die Maske wirkt nicht so, wie die Aufgabe es angibt.",
    },
    "attention.blocked-row": {
        "en": "{what}: a query that may see nothing gives NaN or infinity.",
        "de": "{what}: eine Query, die nichts sehen darf, ergibt NaN oder Unendlich.",
    },
    "attention.blocked-others": {
        "en": "{what}: blocking everything for one query changed the results of the others.",
        "de": "{what}: für eine Query alles zu sperren veränderte die Ergebnisse der anderen.",
    },
    "attention.precision": {
        "en": "{what}: with inputs in double precision the result has only single precision.",
        "de": "{what}: bei Eingaben in doppelter Genauigkeit hat das Ergebnis nur einfache.",
    },
    "attention.no-dropout": {
        "en": "{what}: in training mode no attention weight is ever dropped.",
        "de": "{what}: im Trainingsmodus wird nie ein Attention-Gewicht verworfen.",
    },
    "attention.dropout-evaluation": {
        "en": "{what}: equal calls differ in evaluation mode when random numbers begin elsewhere: dropout or "
        "other randomness is active there.",
        "de": "{what}: im Auswertungsmodus ergeben gleiche Aufrufe Verschiedenes, wenn die Zufallszahlen "
        "anders beginnen: Dropout oder anderer Zufall wirkt.",
    },
}
