"""Sentences about numbers that known mistakes of counting lead to, without the right number.

The codes are those of the mistakes in the course's reference, and of the sorts (families) they belong to.
"""

from __future__ import annotations

from autograder.records import Text

_FAMILIES: dict[str, Text] = {
    "counting.several": {
        "en": "{what}: this number is not right, and more than one slip leads to it. Go through the "
        "parts one by one, and then check factors and units.",
        "de": "{what}: Diese Zahl stimmt nicht, und mehr als ein Versehen führt zu ihr. Bitte die Teile "
        "einzeln durchgehen und danach Faktoren und Einheiten prüfen.",
    },
    "counting.less": {
        "en": "{what}: something is left out. Go through the parts of the model one by one.",
        "de": "{what}: Etwas fehlt. Bitte die Teile des Modells einzeln durchgehen.",
    },
    "counting.more": {
        "en": "{what}: something is counted that does not belong there, or is counted twice.",
        "de": "{what}: Etwas ist mitgezählt, was nicht dazugehört, oder doppelt gezählt.",
    },
    "counting.heads": {
        "en": "{what}: check how many heads the keys and values have, and how wide they are together.",
        "de": "{what}: Bitte prüfen, wie viele Köpfe Keys und Values haben und wie breit sie zusammen sind.",
    },
    "counting.factors": {
        "en": "{what}: the parts are right, but a factor is not: layers, sequences, bytes, or operations "
        "of each number.",
        "de": "{what}: Die Teile stimmen, ein Faktor aber nicht: Schichten, Sequenzen, Bytes oder "
        "Operationen je Zahl.",
    },
}

_PARAMETERS: dict[str, Text] = {
    "counting.no-biases": {
        "en": "{what}: you counted the matrices without their biases. Which layers of this model have some?",
        "de": "{what}: Sie haben die Matrizen ohne Biases gezählt. Welche Schichten dieses Modells haben "
        "welche?",
    },
    "counting.biases-added": {
        "en": "{what}: you counted biases for the matrices. Look at the configuration: does this model "
        "have them?",
        "de": "{what}: Sie haben Biases zu den Matrizen gezählt. Bitte die Konfiguration ansehen: Hat "
        "dieses Modell welche?",
    },
    "counting.no-norms": {
        "en": "{what}: the normalisation layers have parameters, too.",
        "de": "{what}: Auch die Normalisierungsschichten haben Parameter.",
    },
    "counting.last-norm": {
        "en": "{what}: there is one more normalisation layer than those inside of the layers.",
        "de": "{what}: Es gibt noch eine Normalisierungsschicht außerhalb der Schichten.",
    },
    "counting.norm-biases": {
        "en": "{what}: which parameters does this kind of normalisation have, besides or without a bias?",
        "de": "{what}: Welche Parameter hat diese Art der Normalisierung, mit oder ohne Bias?",
    },
    "counting.no-embeddings": {
        "en": "{what}: the table of token embeddings is left out.",
        "de": "{what}: Die Tabelle der Token-Embeddings fehlt.",
    },
    "counting.no-positions": {
        "en": "{what}: the table of learned positions is left out.",
        "de": "{what}: Die Tabelle der gelernten Positionen fehlt.",
    },
    "counting.no-segments": {
        "en": "{what}: the embeddings that tell two sentences apart are left out.",
        "de": "{what}: Es fehlen die Embeddings, die zwei Sätze unterscheiden.",
    },
    "counting.no-pooler": {
        "en": "{what}: what BERT computes from the first token at the end has parameters, too.",
        "de": "{what}: Was BERT am Ende aus dem ersten Token berechnet, hat ebenfalls Parameter.",
    },
    "counting.no-relative-positions": {
        "en": "{what}: the tables of relative positions are left out.",
        "de": "{what}: Die Tabellen der relativen Positionen fehlen.",
    },
    "counting.relative-positions-each-layer": {
        "en": "{what}: not every layer has a table of relative positions. Which ones share it?",
        "de": "{what}: Nicht jede Schicht hat eine Tabelle relativer Positionen. Welche teilen sie sich?",
    },
    "counting.no-cross-attention": {
        "en": "{what}: the attention of the decoder to the encoder is left out.",
        "de": "{what}: Die Attention des Decoders auf den Encoder fehlt.",
    },
    "counting.old-vocabulary": {
        "en": "{what}: the tokenizer got further tokens. How many rows has the table now?",
        "de": "{what}: Der Tokenizer hat weitere Tokens bekommen. Wie viele Zeilen hat die Tabelle jetzt?",
    },
    "counting.tied-head-twice": {
        "en": "{what}: the output head shares its matrix with the token embeddings; you counted it a "
        "second time.",
        "de": "{what}: Der Ausgabekopf teilt seine Matrix mit den Token-Embeddings; Sie haben sie ein "
        "zweites Mal gezählt.",
    },
    "counting.no-head": {
        "en": "{what}: in this model the output head has a matrix of its own; it is left out.",
        "de": "{what}: In diesem Modell hat der Ausgabekopf eine eigene Matrix; sie fehlt.",
    },
    "counting.multi-head": {
        "en": "{what}: you gave keys and values as many heads as queries. This model groups its queries: "
        "see the number of key-value heads.",
        "de": "{what}: Keys und Values haben hier so viele Köpfe wie Queries bekommen. Dieses Modell "
        "fasst Queries zu Gruppen zusammen: siehe die Zahl der Key-Value-Köpfe.",
    },
    "counting.single-key-head": {
        "en": "{what}: you gave keys and values a single head. See the number of key-value heads.",
        "de": "{what}: Keys und Values haben hier nur einen Kopf bekommen. Siehe die Zahl der "
        "Key-Value-Köpfe.",
    },
    "counting.queries-only": {
        "en": "{what}: one matrix makes queries, keys and values here. You counted one of the three.",
        "de": "{what}: Eine Matrix erzeugt hier Queries, Keys und Values. Sie haben eines der drei gezählt.",
    },
    "counting.no-output-projection": {
        "en": "{what}: the matrix that brings the heads' results back to the width of the model is left out.",
        "de": "{what}: Es fehlt die Matrix, die die Ergebnisse der Köpfe zurück auf die Breite des "
        "Modells bringt.",
    },
    "counting.no-gate": {
        "en": "{what}: a gated MLP has a further matrix, the gate.",
        "de": "{what}: Ein MLP mit Gate hat eine weitere Matrix, das Gate.",
    },
    "counting.one-layer": {
        "en": "{what}: that is the number for a single layer.",
        "de": "{what}: Das ist die Zahl für eine einzige Schicht.",
    },
    "counting.all-experts-active": {
        "en": "{what}: you counted all experts, but a token only passes through some of them.",
        "de": "{what}: Sie haben alle Experten gezählt; ein Token durchläuft aber nur einige davon.",
    },
    "counting.one-expert": {
        "en": "{what}: you counted one expert for each layer. How many are asked for?",
        "de": "{what}: Sie haben einen Experten je Schicht gezählt. Nach wie vielen ist gefragt?",
    },
    "counting.no-router": {
        "en": "{what}: what chooses the experts has parameters as well.",
        "de": "{what}: Was die Experten auswählt, hat ebenfalls Parameter.",
    },
    "counting.everything-divided": {
        "en": "{what}: only the MLPs are divided into experts; everything else is computed for every token.",
        "de": "{what}: Nur die MLPs sind in Experten aufgeteilt; alles andere wird für jedes Token "
        "berechnet.",
    },
}

_MEMORY: dict[str, Text] = {
    "counting.keys-only": {
        "en": "{what}: the cache keeps keys and values; you counted one of the two.",
        "de": "{what}: Der Cache enthält Keys und Values; Sie haben nur eines davon gezählt.",
    },
    "counting.batch-forgotten": {
        "en": "{what}: that is the memory for a single sequence; every sequence needs its own.",
        "de": "{what}: Das ist der Speicher für eine einzige Sequenz; jede braucht eigenen.",
    },
    "counting.four-bytes": {
        "en": "{what}: you counted four bytes for each number. How many does this dtype have?",
        "de": "{what}: Sie haben vier Byte je Zahl gerechnet. Wie viele hat dieser Datentyp?",
    },
    "counting.two-bytes": {
        "en": "{what}: you counted two bytes for each number. Which dtype has the optimizer's copy?",
        "de": "{what}: Sie haben zwei Byte je Zahl gerechnet. Welchen Datentyp hat die Kopie des "
        "Optimierers?",
    },
    "counting.one-byte": {
        "en": "{what}: that is the number of values. How many bytes does one of them have?",
        "de": "{what}: Das ist die Anzahl der Werte. Wie viele Byte hat einer davon?",
    },
    "counting.full-width": {
        "en": "{what}: the heads together are not as wide as the model here: see how many there are.",
        "de": "{what}: Die Köpfe zusammen sind hier nicht so breit wie das Modell: siehe ihre Zahl.",
    },
    "counting.one-moment": {
        "en": "{what}: AdamW keeps more than one running average for each parameter.",
        "de": "{what}: AdamW führt mehr als einen gleitenden Mittelwert je Parameter.",
    },
    "counting.no-gradients": {
        "en": "{what}: each parameter also has a gradient.",
        "de": "{what}: Zu jedem Parameter gehört auch ein Gradient.",
    },
    "counting.no-master-weights": {
        "en": "{what}: in mixed precision the optimizer keeps a copy of the weights of its own.",
        "de": "{what}: Bei gemischter Genauigkeit hält der Optimierer eine eigene Kopie der Gewichte.",
    },
    "counting.no-optimizer": {
        "en": "{what}: what the optimizer keeps for each parameter is left out.",
        "de": "{what}: Es fehlt, was der Optimierer je Parameter behält.",
    },
    "counting.no-scores": {
        "en": "{what}: what attention keeps for every pair of tokens is left out.",
        "de": "{what}: Es fehlt, was die Attention für jedes Paar von Tokens behält.",
    },
    "counting.scores-of-one-head": {
        "en": "{what}: you counted the scores of one head; every head has its own.",
        "de": "{what}: Sie haben die Scores eines Kopfes gezählt; jeder Kopf hat eigene.",
    },
    "counting.inputs-only": {
        "en": "{what}: one layer at a time is computed again, and needs all of its activations while it is.",
        "de": "{what}: Jeweils eine Schicht wird neu berechnet und braucht dabei alle ihre Aktivierungen.",
    },
    "counting.not-checkpointed": {
        "en": "{what}: that is the memory without checkpointing. What does a checkpointed layer keep?",
        "de": "{what}: Das ist der Speicher ohne Checkpointing. Was behält eine Schicht mit Checkpointing?",
    },
}

_OPERATIONS: dict[str, Text] = {
    "counting.one-operation": {
        "en": "{what}: a multiplication and an addition are two operations here.",
        "de": "{what}: Eine Multiplikation und eine Addition sind hier zwei Operationen.",
    },
    "counting.no-attention-products": {
        "en": "{what}: the products with weights are there, but scores and the weighted sum of values "
        "are products, too.",
        "de": "{what}: Die Produkte mit Gewichten sind da; aber auch Scores und die gewichtete Summe der "
        "Values sind Produkte.",
    },
    "counting.scores-only": {
        "en": "{what}: attention has two products of activations: the scores, and what they are used for.",
        "de": "{what}: Die Attention hat zwei Produkte von Aktivierungen: die Scores, und wofür sie dienen.",
    },
    "counting.causal": {
        "en": "{what}: you counted only the pairs that the causal mask leaves. The question counts all "
        "pairs.",
        "de": "{what}: Sie haben nur die Paare gezählt, die die kausale Maske übrig lässt. Die Frage "
        "zählt alle.",
    },
    "counting.look-up": {
        "en": "{what}: looking up a row of a table is no matrix product, and costs no operations here.",
        "de": "{what}: Eine Zeile aus einer Tabelle zu lesen ist kein Matrixprodukt und kostet hier "
        "keine Operationen.",
    },
    "counting.forward-only": {
        "en": "{what}: that is the forward pass alone; training has a backward pass as well.",
        "de": "{what}: Das ist nur der Vorwärtsdurchlauf; zum Training gehört auch ein Rückwärtsdurchlauf.",
    },
    "counting.backward-once": {
        "en": "{what}: for each product the backward pass has two: which gradients are needed?",
        "de": "{what}: Zu jedem Produkt hat der Rückwärtsdurchlauf zwei: Welche Gradienten werden gebraucht?",
    },
    "counting.rule-of-thumb": {
        "en": "{what}: that is the rule of thumb; the exact number is asked for.",
        "de": "{what}: Das ist die Faustregel; gefragt ist nach der genauen Zahl.",
    },
}

_ADAPTERS: dict[str, Text] = {
    "counting.one-adapter-matrix": {
        "en": "{what}: an adapter has two matrices; you counted one.",
        "de": "{what}: Ein Adapter hat zwei Matrizen; Sie haben eine gezählt.",
    },
    "counting.full-matrix": {
        "en": "{what}: that is the matrix that is frozen, not its adapter.",
        "de": "{what}: Das ist die eingefrorene Matrix, nicht ihr Adapter.",
    },
    "counting.square-adapter": {
        "en": "{what}: the input and the output of this matrix are not equally wide.",
        "de": "{what}: Eingabe und Ausgabe dieser Matrix sind nicht gleich breit.",
    },
}

SENTENCES: dict[str, Text] = {**_FAMILIES, **_PARAMETERS, **_MEMORY, **_OPERATIONS, **_ADAPTERS}

CODES = frozenset(code.removeprefix("counting.") for code in SENTENCES)
"""What a rubric's ``"diagnosis:…"`` may name where a reference knows mistakes."""
