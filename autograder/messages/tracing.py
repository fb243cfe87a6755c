"""Sentences about gradients, about who sees whom, and about shapes line by line.

No sentence says what would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping

from autograder.records import Text

_GRADIENTS: Mapping[str, Text] = {
    "gradient.sign": {
        "en": "{what}: every number has the wrong sign.",
        "de": "{what}: Jede Zahl hat das falsche Vorzeichen.",
    },
    "gradient.factor": {
        "en": "{what} has the right direction, but is longer or shorter by a constant factor.",
        "de": "{what} hat die richtige Richtung, ist aber um einen konstanten Faktor zu lang oder zu kurz.",
    },
    "gradient.transposed": {
        "en": "{what} is transposed. A gradient has the shape of what it is taken for.",
        "de": "{what} ist transponiert. Ein Gradient hat die Form dessen, wonach abgeleitet wird.",
    },
    "gradient.diagonal-only": {
        "en": "{what}: only the diagonal of the Jacobian of the softmax is used; every probability "
        "depends on every score.",
        "de": "{what}: Von der Jacobi-Matrix des Softmax wird nur die Diagonale benutzt; jede "
        "Wahrscheinlichkeit hängt von jedem Score ab.",
    },
    "gradient.sum-missing": {
        "en": "{what}: the probabilities are multiplied with the incoming gradient, but the sum that "
        "comes from the denominator of the softmax is not subtracted.",
        "de": "{what}: Die Wahrscheinlichkeiten werden mit dem ankommenden Gradienten multipliziert, aber "
        "die Summe, die aus dem Nenner des Softmax kommt, wird nicht abgezogen.",
    },
    "gradient.softmax-missing": {
        "en": "{what}: the softmax is left out of the chain rule.",
        "de": "{what}: Der Softmax fehlt in der Kettenregel.",
    },
    "gradient.whole-batch": {
        "en": "{what}: a sum goes over all rows; each row has a softmax of its own.",
        "de": "{what}: Eine Summe läuft über alle Zeilen; jede Zeile hat ihren eigenen Softmax.",
    },
    "gradient.other-axis": {
        "en": "{what}: a sum goes along the wrong axis.",
        "de": "{what}: Eine Summe läuft entlang der falschen Achse.",
    },
    "gradient.operands-swapped": {
        "en": "{what}: two of the gradients have changed places.",
        "de": "{what}: Zwei der Gradienten sind vertauscht.",
    },
    "gradient.not-averaged": {
        "en": "{what}: the loss is the mean over the batch; the gradient is that of the sum.",
        "de": "{what}: Der Verlust ist der Mittelwert über den Batch; der Gradient ist der der Summe.",
    },
    "gradient.classes-averaged": {
        "en": "{what}: the mean goes over the batch only, not over the classes as well.",
        "de": "{what}: Gemittelt wird nur über den Batch, nicht auch über die Klassen.",
    },
    "gradient.target-missing": {
        "en": "{what}: these are the probabilities alone; the targets do not come in.",
        "de": "{what}: Das sind nur die Wahrscheinlichkeiten; die Zielklassen kommen nicht vor.",
    },
    "gradient.mean-missing": {
        "en": "{what}: the mean depends on the input as well; the term that comes from it is missing.",
        "de": "{what}: Auch der Mittelwert hängt von der Eingabe ab; der Term, der daraus kommt, fehlt.",
    },
    "gradient.variance-missing": {
        "en": "{what}: the variance depends on the input as well; the term that comes from it is missing.",
        "de": "{what}: Auch die Varianz hängt von der Eingabe ab; der Term, der daraus kommt, fehlt.",
    },
    "gradient.statistics-constant": {
        "en": "{what}: mean and variance are treated as constants; both depend on the input.",
        "de": "{what}: Mittelwert und Varianz werden wie Konstanten behandelt; beide hängen von der "
        "Eingabe ab.",
    },
    "gradient.gain-missing": {
        "en": "{what}: the gain is left out of the chain rule.",
        "de": "{what}: Der Faktor gain fehlt in der Kettenregel.",
    },
    "gradient.not-normalised": {
        "en": "{what}: the gain is multiplied with the normalised input, not with the input itself.",
        "de": "{what}: gain wird mit der normierten Eingabe multipliziert, nicht mit der Eingabe selbst.",
    },
    "gradient.batch-averaged": {
        "en": "{what}: parameters that all rows share collect the sum over the rows, not the mean.",
        "de": "{what}: Parameter, die alle Zeilen teilen, sammeln die Summe über die Zeilen, nicht das "
        "Mittel.",
    },
    "gradient.scale-missing": {
        "en": "{what}: the scores are divided by a root before the softmax; that factor is left out here.",
        "de": "{what}: Die Scores werden vor dem Softmax durch eine Wurzel geteilt; dieser Faktor fehlt "
        "hier.",
    },
    "gradient.scores-for-weights": {
        "en": "{what}: the values are weighted with the result of the softmax, not with the scores.",
        "de": "{what}: Die Values werden mit dem Ergebnis des Softmax gewichtet, nicht mit den Scores.",
    },
    "gradient.not-transposed": {
        "en": "{what}: a matrix in the product has to be transposed.",
        "de": "{what}: Eine Matrix im Produkt muss transponiert werden.",
    },
}

_VISIBILITY: Mapping[str, Text] = {
    "visibility.form": {
        "en": "{what} is a “{form}”; asked for is a matrix of 0 and 1 (rows: who sees; columns: who is "
        "seen) or a list of pairs of positions, counted from 0.",
        "de": "{what} ist ein „{form}“; gefragt ist eine Matrix aus 0 und 1 (Zeilen: wer sieht; Spalten: "
        "wer gesehen wird) oder eine Liste von Paaren von Positionen, gezählt ab 0.",
    },
    "visibility.entry": {
        "en": "{what}: a matrix with other entries than 0 and 1, or False and True.",
        "de": "{what}: eine Matrix mit anderen Einträgen als 0 und 1 oder False und True.",
    },
    "visibility.position": {
        "en": "{what}: the pair {pair} names a position that does not exist; positions count from 0.",
        "de": "{what}: Das Paar {pair} nennt eine Position, die es nicht gibt; gezählt wird ab 0.",
    },
    "visibility.size": {
        "en": "{what} has the shape {shape}; there is one row for each position that sees and one column "
        "for each that may be seen.",
        "de": "{what} hat die Form {shape}; es gibt eine Zeile für jede Position, die sieht, und eine "
        "Spalte für jede, die gesehen werden kann.",
    },
    "visibility.transposed": {
        "en": "{what} is transposed: rows are the positions that see, columns those that are seen.",
        "de": "{what} ist transponiert: Zeilen sind die Positionen, die sehen, Spalten die, die gesehen "
        "werden.",
    },
    "visibility.inverted": {
        "en": "{what} says the opposite throughout: 1 means that a position is seen.",
        "de": "{what} sagt überall das Gegenteil: 1 heißt, dass eine Position gesehen wird.",
    },
    "visibility.diagonal-missing": {
        "en": "{what}: only the diagonal is wrong; does a position see itself?",
        "de": "{what}: Nur die Diagonale ist falsch; sieht eine Position sich selbst?",
    },
    "visibility.one-ahead": {
        "en": "{what} reaches one position too far ahead.",
        "de": "{what} reicht eine Position zu weit nach vorn.",
    },
    "visibility.both-sides": {
        "en": "{what} looks to both sides alike; here before and after are not the same.",
        "de": "{what} blickt nach beiden Seiten gleich; hier sind davor und danach nicht dasselbe.",
    },
    "visibility.everything": {
        "en": "{what}: here every position sees every other one; something is hidden, though.",
        "de": "{what}: Hier sieht jede Position jede andere; es ist aber etwas verdeckt.",
    },
    "visibility.nothing": {
        "en": "{what}: here no position sees anything.",
        "de": "{what}: Hier sieht keine Position etwas.",
    },
    "visibility.padding-ignored": {
        "en": "{what}: padding is seen as if it were text.",
        "de": "{what}: Padding wird gesehen, als wäre es Text.",
    },
    "visibility.padding-rows": {
        "en": "{what}: the rows of the padding are empty. Nobody attends to padding, but its own outputs "
        "are computed like all others.",
        "de": "{what}: Die Zeilen des Paddings sind leer. Niemand achtet auf Padding, aber seine eigenen "
        "Ausgaben werden wie alle anderen berechnet.",
    },
    "visibility.one-layer": {
        "en": "{what} is right for a single layer; a stack of layers passes on what its lower layers saw.",
        "de": "{what} ist richtig für eine einzige Schicht; ein Stapel von Schichten reicht weiter, was "
        "seine unteren Schichten gesehen haben.",
    },
    "visibility.prefix-causal": {
        "en": "{what}: the prefix is treated like the rest; within the prefix, all see one another.",
        "de": "{what}: Das Präfix wird wie der Rest behandelt; innerhalb des Präfixes sehen sich alle.",
    },
    "visibility.windows-added": {
        "en": "{what}: the window is multiplied by the number of layers; the last position of one layer's "
        "window is the first of the next one's.",
        "de": "{what}: Das Fenster wird mit der Anzahl der Schichten multipliziert; die letzte Position "
        "im Fenster einer Schicht ist die erste in dem der nächsten.",
    },
    "visibility.dilation-ignored": {
        "en": "{what}: the window has no gaps here; a dilated one leaves positions out.",
        "de": "{what}: Das Fenster hat hier keine Lücken; ein gedehntes lässt Positionen aus.",
    },
    "visibility.window-too-wide": {
        "en": "{what}: the window is one position too wide; it includes the position itself.",
        "de": "{what}: Das Fenster ist eine Position zu breit; die Position selbst zählt mit.",
    },
    "visibility.window-too-narrow": {
        "en": "{what}: the window is one position too narrow.",
        "de": "{what}: Das Fenster ist eine Position zu schmal.",
    },
    "visibility.rows": {
        "en": "{what}: {count} of {total} rows are not right, the first of them that of position {row}.",
        "de": "{what}: {count} von {total} Zeilen stimmen nicht, die erste davon ist die von Position {row}.",
    },
}

_CAUSALITY: Mapping[str, Text] = {
    "causality.leak": {
        "en": "{what}: the output at position {query} changes when only the input at position {key} is "
        "changed, which it must not see. Pairs like this one: {count}.",
        "de": "{what}: Die Ausgabe an Position {query} ändert sich, wenn nur die Eingabe an Position "
        "{key} geändert wird, die sie nicht sehen darf. Paare wie dieses: {count}.",
    },
    "causality.blind": {
        "en": "{what}: the output at position {query} stays the same when the input at position {key} is "
        "changed, which it should see. Pairs like this one: {count}.",
        "de": "{what}: Die Ausgabe an Position {query} bleibt gleich, wenn die Eingabe an Position {key} "
        "geändert wird, die sie sehen soll. Paare wie dieses: {count}.",
    },
    "causality.nothing": {
        "en": "{what}: the output does not depend on this input at all.",
        "de": "{what}: Die Ausgabe hängt von dieser Eingabe überhaupt nicht ab.",
    },
    "causality.examples": {
        "en": "{what}: the output of one example changes when only other examples of the batch are changed.",
        "de": "{what}: Die Ausgabe eines Beispiels ändert sich, wenn nur andere Beispiele des Batches "
        "geändert werden.",
    },
    "causality.axes": {
        "en": "{what} has the shape {shape}; there is no axis with one output for each position.",
        "de": "{what} hat die Form {shape}; es gibt keine Achse mit einer Ausgabe für jede Position.",
    },
}

_TRACING: Mapping[str, Text] = {
    "tracing.follows": {
        "en": "{what}: not right, but it follows from your own shapes of the lines before, one of which "
        "is not right.",
        "de": "{what}: nicht richtig, folgt aber aus Ihren eigenen Formen der Zeilen davor, von denen "
        "eine nicht stimmt.",
    },
    "tracing.impossible": {
        "en": "{what}: not right. With your own shapes of the lines before, this line would stop with an "
        "error.",
        "de": "{what}: nicht richtig. Mit Ihren eigenen Formen der Zeilen davor bräche diese Zeile mit "
        "einem Fehler ab.",
    },
}

SENTENCES: Mapping[str, Text] = {**_GRADIENTS, **_VISIBILITY, **_CAUSALITY, **_TRACING}
