"""Sentences about a repaired class: what was observed, never the line that repairs it."""

from __future__ import annotations

from autograder.records import Text

SENTENCES: dict[str, Text] = {
    "repair.repaired": {
        "en": "Repaired.",
        "de": "Repariert.",
    },
    "repair.repaired.object": {
        "en": "Repaired. (At the end {name} is not the class but an object made from it; "
        "its class was asked.)",
        "de": "Repariert. (Am Ende ist {name} nicht die Klasse, sondern ein Objekt davon; "
        "gefragt wurde dessen Klasse.)",
    },
    "repair.no-tensor": {
        "en": "A forward pass should return a tensor of floating-point numbers, but returned {kind}: {what}.",
        "de": "Ein Vorwärtsschritt soll einen Tensor aus Gleitkommazahlen liefern, "
        "lieferte aber {kind}: {what}.",
    },
    "repair.shape": {
        "en": "The output should be of floating-point numbers, in the shape ({batch}, {length}, n_tokens), "
        "but was {got}: {what}.",
        "de": "Die Ausgabe soll aus Gleitkommazahlen bestehen, in der Form ({batch}, {length}, n_tokens), "
        "war aber {got}: {what}.",
    },
    "repair.not-finite": {
        "en": "The output contains NaN or infinity: {what}.",
        "de": "Die Ausgabe enthält NaN oder Unendlich: {what}.",
    },
    "repair.unsteady": {
        "en": "Two equal calls with the same random seed gave different outputs, "
        "so nothing could be observed.",
        "de": "Zwei gleiche Aufrufe mit gleichem Startwert des Zufalls gaben verschiedene Ausgaben; "
        "so ließ sich nichts beobachten.",
    },
    "repair.constant": {
        "en": "Other input tokens gave exactly the same output, so the embeddings could not be observed.",
        "de": "Andere Eingabetoken gaben genau dieselbe Ausgabe; "
        "die Einbettungen ließen sich nicht beobachten.",
    },
    "repair.self_mask": {
        "en": "Hiding a target position from the later ones in the target mask did not stop it from "
        "influencing them through the self-attention.",
        "de": "Eine Zielposition, die in der Zielmaske vor den späteren verborgen war, "
        "beeinflusste sie trotzdem über die Self-Attention.",
    },
    "repair.self_mask.future": {
        "en": "Another token at a later position of the target changed the output at an earlier one.",
        "de": "Ein anderes Token an einer späteren Zielposition änderte die Ausgabe an einer früheren.",
    },
    "repair.self_mask.closed": {
        "en": "A target position that the target mask leaves visible did not reach the later ones "
        "through the self-attention.",
        "de": "Eine Zielposition, die in der Zielmaske sichtbar war, "
        "erreichte die späteren nicht über die Self-Attention.",
    },
    "repair.residual": {
        "en": "Changing one target token moved the output at its own position no more than attention alone "
        "explains: what enters a decoder block does not get past its self-attention.",
        "de": "Ein anderes Zieltoken bewegte die Ausgabe an seiner eigenen Position nicht mehr, "
        "als Attention allein erklärt: Was in einen Decoder-Block hineingeht, "
        "kommt nicht an der Self-Attention vorbei.",
    },
    "repair.residual.gate": {
        "en": "Where the state of a position is all zeros, nothing of what the self-attention brings to it "
        "arrived in the output: the two are not added.",
        "de": "Wo der Zustand einer Position aus lauter Nullen besteht, kam nichts von dem, was die "
        "Self-Attention bringt, in der Ausgabe an: Die beiden werden nicht addiert.",
    },
    "repair.residual.choice": {
        "en": "Where the state of a position is made of very large numbers of one sign, another token there "
        "changed nothing: the state and what the self-attention brings are not added.",
        "de": "Wo der Zustand einer Position aus sehr großen Zahlen eines Vorzeichens besteht, änderte ein "
        "anderes Token dort nichts: Der Zustand und das, was die Self-Attention bringt, "
        "werden nicht addiert.",
    },
    "repair.residual.layers": {
        "en": "In a model of two layers, exchanging all earlier tokens changed nothing at a position whose "
        "own embedding is very large, although each layer normalises: a later layer does not add to "
        "what it was given.",
        "de": "In einem Modell aus zwei Schichten änderte der Austausch aller früheren Token nichts an einer "
        "Position, deren eigenes Embedding sehr groß ist, obwohl jede Schicht normalisiert: "
        "Eine spätere Schicht addiert nicht zu dem, was sie bekommt.",
    },
    "repair.cross_mask": {
        "en": "Moving a memory position that the memory mask blocks still changed the output.",
        "de": "Eine Position des Memory, die in der Memory-Maske verborgen war, "
        "änderte trotzdem die Ausgabe.",
    },
    "repair.cross_mask.inverted": {
        "en": "The memory mask hid from the cross-attention what it allows, and showed what it blocks: "
        "with the mask inverted, it acted as it should.",
        "de": "Die Memory-Maske verbarg vor der Cross-Attention, was sie erlaubt, und zeigte, was sie "
        "sperrt: Mit umgekehrter Maske wirkte sie, wie sie soll.",
    },
    "repair.self_mask.inverted": {
        "en": "The target mask hid from the self-attention what it allows, and showed what it blocks: "
        "with the mask inverted, it acted as it should.",
        "de": "Die Zielmaske verbarg vor der Self-Attention, was sie erlaubt, und zeigte, was sie "
        "sperrt: Mit umgekehrter Maske wirkte sie, wie sie soll.",
    },
    "repair.output_head.idle": {
        "en": "The layers have no part in the output: the scores are not made from what they give.",
        "de": "Die Schichten haben keinen Anteil an der Ausgabe: "
        "Die Scores entstehen nicht aus dem, was sie liefern.",
    },
    "repair.cross_mask.both": {
        "en": "Blocking a position in the target mask also hid that position of the memory.",
        "de": "Eine in der Zielmaske verborgene Position verbarg auch diese Position des Memory.",
    },
    "repair.cross_mask.unused": {
        "en": "No mask could be seen to act on the cross-attention: "
        "nothing that it reads changed the output.",
        "de": "An der Cross-Attention war keine Maske zu erkennen: "
        "Nichts, was sie liest, änderte die Ausgabe.",
    },
    "repair.position_table": {
        "en": "In a target that is longer than the vocabulary is large, but no longer than max_len, "
        "several positions were treated alike.",
        "de": "In einer Zielfolge, die länger ist als das Vokabular groß, aber nicht länger als max_len, "
        "wurden mehrere Positionen gleich behandelt.",
    },
    "repair.position_table.short": {
        "en": "A target of length max_len could not be read with a position of its own for each token, "
        "and for a max_len of 0 no model could be made: there are fewer positions than max_len.",
        "de": "Eine Zielfolge der Länge max_len ließ sich nicht mit einer eigenen Position für jedes Token "
        "lesen, und für ein max_len von 0 ließ sich kein Modell bauen: "
        "Es gibt weniger Positionen als max_len.",
    },
    "repair.position_table.constant": {
        "en": "A model with a larger max_len holds no more numbers than before, and with a max_len of at "
        "least {length} a target of {length} tokens could not be read to its end.",
        "de": "Ein Modell mit größerem max_len enthält nicht mehr Zahlen als zuvor, und bei einem max_len "
        "von mindestens {length} ließ sich eine Zielfolge von {length} Token nicht bis zum Ende lesen.",
    },
    "repair.shape_order": {
        "en": "With a batch of {batch} and length {length}, the same token gave the same output "
        "at the first two positions.",
        "de": "Bei {batch} Zeilen der Länge {length} gab dasselbe Token an den ersten zwei Positionen "
        "dieselbe Ausgabe.",
    },
    "repair.shape_order.rows": {
        "en": "With a batch of {batch} and length {length}, equal sequences gave different outputs "
        "in different rows of the batch.",
        "de": "Bei {batch} Zeilen der Länge {length} gaben gleiche Folgen in verschiedenen Zeilen "
        "verschiedene Ausgaben.",
    },
    "repair.shape_order.sizes": {
        "en": "With a batch of {batch} and length {length}, positions were counted differently "
        "than with other sizes.",
        "de": "Bei {batch} Zeilen der Länge {length} wurden Positionen anders gezählt "
        "als bei anderen Größen.",
    },
    "repair.embedding_dropout": {
        "en": "In training mode, with a dropout of 0.5, the features of the embedded tokens "
        "still had a part in the output: they are not dropped.",
        "de": "Im Trainingsmodus, bei Dropout 0,5, wirkten die Merkmale der eingebetteten Token "
        "weiterhin an der Ausgabe mit: Sie werden nicht verworfen.",
    },
    "repair.embedding_dropout.tokens": {
        "en": "In training mode, features of the tokens are dropped, but with a dropout of 0.5 those of the "
        "positions still had a part in the output: it is not their sum that dropout acts on.",
        "de": "Im Trainingsmodus werden Merkmale der Token verworfen, aber die der Positionen wirkten bei "
        "Dropout 0,5 weiterhin an der Ausgabe mit: Das Dropout wirkt nicht auf die Summe.",
    },
    "repair.cross_value.exchanged": {
        "en": "A position of the memory moved the output at that position and at no later one: "
        "the memory is not what is looked at.",
        "de": "Eine Position des Memory änderte die Ausgabe an dieser Position und an keiner späteren: "
        "Das Memory ist nicht das, worauf geblickt wird.",
    },
    "repair.cross_value.pooled": {
        "en": "It made no difference which position of the memory was moved: "
        "what arrives is the same mixture of all positions, however attention is distributed.",
        "de": "Es machte keinen Unterschied, welche Position des Memory verändert wurde: "
        "Was ankommt, ist dieselbe Mischung aller Positionen, wie auch immer die Aufmerksamkeit "
        "verteilt ist.",
    },
    "repair.cross_value": {
        "en": "With a single memory position, replacing the memory did not change the output at all: "
        "the content of the memory does not arrive.",
        "de": "Bei einer einzigen Memory-Position änderte ein anderes Memory die Ausgabe überhaupt nicht: "
        "Der Inhalt des Memory kommt nicht an.",
    },
    "repair.output_head": {
        "en": "With a vocabulary of {n_tokens} and a width of {d_model}, the output has {width} numbers "
        "for each position.",
        "de": "Bei einem Vokabular von {n_tokens} und einer Breite von {d_model} hat die Ausgabe "
        "{width} Zahlen je Position.",
    },
    "repair.output_head.weights": {
        "en": "A larger vocabulary gave the model hardly any more weights that take part in its scores: "
        "the scores of the tokens are not computed by weights of the model.",
        "de": "Ein größeres Vokabular gab dem Modell kaum mehr Gewichte, die an den Bewertungen mitwirken: "
        "Die Bewertungen der Token werden nicht mit Gewichten des Modells berechnet.",
    },
    "repair.no-weights": {
        "en": "The weights of the model could not be counted: {what}.",
        "de": "Die Gewichte des Modells ließen sich nicht zählen: {what}.",
    },
    "repair.norm": {
        "en": "When the embeddings grow, they drown what the cross-attention adds: "
        "what enters it keeps their size.",
        "de": "Wachsen die Einbettungen, so übertönen sie, was die Cross-Attention hinzufügt: "
        "Was in sie hineingeht, behält deren Größe.",
    },
    "repair.cross_key": {
        "en": "Exchanging two visible positions of the memory changed the output: "
        "where the cross-attention looks does not follow from the memory.",
        "de": "Zwei vertauschte sichtbare Positionen des Memory änderten die Ausgabe: "
        "Wohin die Cross-Attention blickt, folgt nicht aus dem Memory.",
    },
    "repair.cross_key.unused": {
        "en": "Moving a visible position of the memory changed nothing: "
        "the cross-attention does not look there.",
        "de": "Eine andere sichtbare Position des Memory änderte nichts: "
        "Die Cross-Attention blickt nicht dorthin.",
    },
    "repair.token_table": {
        "en": "With a vocabulary that is larger than every other size of the model, "
        "several tokens were treated alike.",
        "de": "Bei einem Vokabular, das größer ist als jede andere Größe des Modells, "
        "wurden mehrere Token gleich behandelt.",
    },
    "repair.position_offset": {
        "en": "In a target of length max_len, several positions were treated alike.",
        "de": "In einer Zielfolge der Länge max_len wurden mehrere Positionen gleich behandelt.",
    },
    "repair.position_missing": {
        "en": "The same token gave the same output at different positions.",
        "de": "Dasselbe Token gab an verschiedenen Positionen dieselbe Ausgabe.",
    },
    "repair.dropout_always": {
        "en": "In evaluation mode and with a dropout of 0.5, "
        "two passes with different random seeds gave different outputs.",
        "de": "Im Auswertungsmodus und mit Dropout 0,5 "
        "gaben zwei Durchgänge mit verschiedenen Startwerten verschiedene Ausgaben.",
    },
    "repair.dropout_rate": {
        "en": "In training mode a layer did not drop at the rate that was asked for: with a dropout of 0 "
        "its output depended on the random seed, or with a dropout of 1 on the memory.",
        "de": "Im Trainingsmodus verwarf eine Schicht nicht mit der verlangten Rate: Bei Dropout 0 hing "
        "ihre Ausgabe vom Startwert des Zufalls ab oder bei Dropout 1 vom Memory.",
    },
    "repair.hidden_width": {
        "en": "A larger d_hidden gave the model no more weights that take part in its output.",
        "de": "Ein größeres d_hidden gab dem Modell nicht mehr Gewichte, die an der Ausgabe mitwirken.",
    },
    "repair.shared_block": {
        "en": "A model with two layers has hardly more weights than a model with one.",
        "de": "Ein Modell mit zwei Schichten hat kaum mehr Gewichte als eines mit einer.",
    },
    "repair.stack": {
        "en": "In a model with two layers, only one of them had an influence on the output.",
        "de": "In einem Modell mit zwei Schichten hatte nur eine von ihnen Einfluss auf die Ausgabe.",
    },
}
