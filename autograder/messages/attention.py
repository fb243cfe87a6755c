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
    "attention.split": {
        "en": "{what}: splitting into heads mixes the positions: a swap of the axes is missing.",
        "de": "{what}: das Aufteilen auf Köpfe mischt die Positionen: ein Tausch der Achsen fehlt.",
    },
    "attention.merge": {
        "en": "{what}: merging the heads mixes the positions: a swap of the axes is missing.",
        "de": "{what}: das Zusammenführen der Köpfe mischt die Positionen: ein Tausch der Achsen fehlt.",
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
    "attention.shared-weights": {
        "en": "{what}: two of query, key and value are projected with the same weights.",
        "de": "{what}: zwei von Query, Key und Value werden mit denselben Gewichten projiziert.",
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
    "attention.mask-transposed": {
        "en": "{what}: the mask's last axis is taken for the queries; it is that of the keys.",
        "de": "{what}: die letzte Achse der Maske wird für die der Queries gehalten; sie ist die der Keys.",
    },
    "attention.mask-first": {
        "en": "{what}: all sequences are given the mask of the first one.",
        "de": "{what}: alle Sequenzen bekommen die Maske der ersten.",
    },
    "attention.remembers": {
        "en": "{what}: a second call of the same object, without a mask and with other inputs, was wrong: "
        "something of the first call was kept.",
        "de": "{what}: ein zweiter Aufruf desselben Objekts, ohne Maske, mit anderen Eingaben, war falsch: "
        "etwas vom ersten Aufruf blieb zurück.",
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
        "en": "{what}: equal calls differ in evaluation mode: dropout or other randomness is active there.",
        "de": "{what}: im Auswertungsmodus ergeben gleiche Aufrufe Verschiedenes: Dropout oder Zufall wirkt.",
    },
}
