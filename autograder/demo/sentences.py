"""What a class writes into the cells that a person reads: explanations in English and in German."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, tuple[str, ...]] = {
    "task1-a": (
        "The encoder reads the source word by word into a hidden state; the decoder starts there and writes one word after the other.",
        "Der Encoder liest den Satz ein, der Decoder erzeugt daraus und aus seinen eigenen Wörtern die Übersetzung.",
        "One network encodes, the other one decodes.",
    ),
    "task1-b-why": (
        "1. They go on step by step. 2. Everything must fit into one vector. 3. The decoder can look back at every state of the encoder.",
        "1. Jeder Schritt ist gleich. 2. Der Vektor ist zu klein. 3. Attention sieht alle Zustände.",
        "1. The same weights in each step. 2. The beginning is forgotten. 3. It focuses on what matters.",
    ),
    "task1-c": (
        "The encoder sees both sides, the decoder only the past, and in cross-attention it asks the encoder's output.",
        "Encoder: alles sichtbar. Decoder: maskiert, nur Früheres. Cross-Attention: Q vom Decoder, K und V vom Encoder.",
        "The decoder is masked, the encoder is not.",
    ),
    "task1-f-why": (
        "1. q changes, so q·k changes by something that depends on k. 2. Softmax ignores a common shift. 3. c cancels. 4. V is used after the softmax.",
        "1. Jeder Key ändert sich anders. 2. Konstante pro Zeile. 3. Kürzt sich weg. 4. Nur die Ausgabe ist null.",
        "1. Because the queries are different now. 2. Same here. 3. Nothing changes. 4. Zero is zero.",
    ),
    "task2-a": (
        "With attention to both sides a token can see itself through other layers. MLM masks it instead.",
        "Das Ziel wäre sichtbar; deshalb werden Tokens verdeckt und vorhergesagt.",
        "It would be cheating.",
    ),
    "task2-b": (
        "Without positions a sentence is a bag of words. Learned ones adapt to the data but end at the maximal length; sinusoids go on for ever and need no parameters.",
        "Attention kennt keine Reihenfolge. Gelernte Positionen passen sich an, feste gelten für jede Länge.",
        "So that the model knows where each word is.",
    ),
    "task2-c-why": (
        "Both sentences contain the same tokens, and order plays no part.",
        "Ohne Positionen ist es dieselbe Menge von Wörtern.",
        "The dog is still a dog.",
    ),
    "task2-d-what": (
        "Learning from raw text; going on with labelled examples; only a description; a description with one example.",
        "Viel Text ohne Labels; weitertrainieren für eine Aufgabe; nur die Anweisung; Anweisung mit einem Beispiel.",
    ),
    "task2-e": (
        "Zero-shot: Is this review positive or negative? The seats were hard, and so was the plot to follow, but I would go again tomorrow. Answer:\n\n"
        "One-shot: Review: A dull evening. Answer: negative. Review: The seats were hard, and so was the plot to follow, but I would go again tomorrow. Answer:",
        "Zero-Shot: Ist diese Besprechung positiv oder negativ? „The seats were hard, and so was the plot to follow, but I would go again tomorrow.“\n\n"
        "One-Shot:\nText: Ein Genuss! Stimmung: positiv\nText: So langweilig. Stimmung: negativ\nText: The seats were hard, and so was the plot to follow, but I would go again tomorrow. Stimmung:",
        "Positive or negative?",
    ),
    "task2-g": (
        "The vector of [CLS], since it has attended to all tokens.",
        "Den Mittelwert aller Token-Vektoren, weil darin alles vorkommt.",
        "The first one.",
    ),
    "task2-i": (
        "Little to store for each task, because the model is shared. But it works less well with small models, which have less to steer.",
        "Dafür: wenige Parameter. Dagegen: schlechter als Fine-Tuning.",
    ),
    "task4-a": (
        "It is asked to play a flat-earther and says that the earth is flat: it was asked for that and made nothing up.",
        "Wenn es ein Märchen erzählen soll. Das ist ja so gewollt.",
        "It gets a date wrong.",
    ),
    "task4-b": (
        "Retrieval gives the facts to the prompt; training on answers like 'I do not know' makes guessing unnecessary.",
        "Niedrigere Temperatur, weil dann seltener Unwahrscheinliches kommt; sauberere Daten, weil Falsches nicht gelernt wird.",
        "A larger model.",
    ),
    "task4-c": (
        "Old data: true once, stated still. Sampling: an unlikely word is drawn, and the text goes on from it. "
        "False premises: it takes over what the question says. Rare names: it fills in what sounds right.",
        "1. Falsche Daten, die mitgelernt werden. 2. Eigene Fehler, auf denen es aufbaut. 3. Zufall. 4. Es will immer antworten.",
        "outdated, rare, typical, sampling",
    ),
    "task4-d-why": (
        "Most composers teach or conduct, and that outweighs what it has read about this one.",
        "Es nimmt, was bei Komponisten üblich ist.",
    ),
    "task4-e-why": (
        "Hardly any text about her exists, so it completes her life with what sounds plausible.",
        "Das Modell kennt sie kaum.",
    ),
    "task4-f-why": (
        "Its first answer stands in the conversation, and the second one fits Rio.",
        "Es bleibt bei dem, was es gesagt hat.",
    ),
    "task4-g-why": (
        "Other words count as another opinion, although both guests mean the same.",
        "Die Wörter sind verschieden.",
    ),
    "task3-a-why": (
        "The matrix turns a token with d_model numbers into a query with d_head numbers.",
        "One row for each input number, one column for each number of the query.",
        "Die Matrix bildet d_model Zahlen auf d_head Zahlen ab.",
        "It is the size of W_Q for one head.",
    ),
    "task3-b-why": (
        "Up to 4*d_model and back again: two matrices of 4*d_model^2 entries each.",
        "Zwei Matrizen, eine zur vierfachen Breite und eine zurück.",
        "d_model x 4 d_model plus 4 d_model x d_model.",
    ),
    "task3-c-why": (
        "The concatenated heads have n_heads*d_head numbers, the MLP reads d_model.",
        "Die aneinandergehängten Köpfe werden auf d_model zurückgebildet.",
        "W_O goes from all heads together to the width of the model.",
    ),
    "task3-d-why": (
        "Three matrices in every head, the output matrix, and the MLP from (b).",
        "Summe aus Q, K und V aller Köpfe, der Ausgabematrix und dem MLP.",
        "3 times (a) for each head, plus (c), plus (b).",
    ),
    "task3-f-why": (
        "Every layer has its own parameters.",
        "Alle Schichten sind gleich groß, also mal n_layers.",
        "Times the number of layers.",
    ),
    "task3-g": (
        "The embeddings of the vocabulary.",
        "Bias vectors and layer normalisation are missing.",
        "Die Positions-Embeddings wurden nicht mitgezählt.",
        "Because of dropout.",
    ),
    "task3-h-why": (
        "Only the first matrix gets a longer input; the second one stays the same.",
        "Die erste Matrix wird dreimal so hoch, die zweite bleibt.",
        "Three vectors of d_model each go in, so 12 + 4.",
    ),
    "task3-i-why": (
        "Attention stays at 4*d_model^2 a layer, the MLP now has 16*d_model^2.",
        "4 + 16 = 20 pro Schicht, mal n_layers.",
        "Same as (f), with the other MLP.",
    ),
    "task5-b-effect": (
        "The first needs fewer samples at once, the second keeps fewer numbers in memory.",
        "Both lower what has to be kept for the backward pass.",
        "Beide verringern, was für den Rückwärtsschritt gespeichert werden muss.",
    ),
}
"""By grade_id of the cell."""
