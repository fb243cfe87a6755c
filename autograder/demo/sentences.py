"""What a class writes into the cells that a person reads: explanations in English and in German."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, tuple[str, ...]] = {
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
