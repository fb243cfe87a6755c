"""Texts that people read: their language, whether they say anything, what is in them, which are equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.checks.values import prose

ENGLISH = """
The encoder reads the source text and turns it into a vector.
Every token looks at all tokens, so the order is lost.
Because the softmax cancels a shift that all scores share.
It has no positions, therefore sentences with the same words look alike.
Two matrices, one up to the hidden width and one back.
The model was trained before this version appeared.
Masking makes sure that the decoder cannot see what comes later.
Only the prompt is trained and the rest stays frozen.
Queries come from the decoder, keys and values come from the encoder.
One vector of fixed size must hold the whole sentence.
The layers are equal and do not share parameters.
Half of the reviews have no label, which is not a problem here.
If the learning rate is too large, training diverges.
We multiply by the number of heads and add the bias.
Greedy decoding picks the most likely token at each step.
You can check the summary against the text.
There is nothing in the data about this person.
Gradients shrink when they pass through many steps.
A lower temperature makes the distribution sharper.
The answer was right at the time of training, but it is outdated now.
"""
GERMAN = """
Der Encoder liest den Text und macht daraus einen Vektor.
Jedes Token sieht alle anderen, also geht die Reihenfolge verloren.
Die Softmax hebt eine Verschiebung auf, die alle Scores gemeinsam haben.
Ohne Positionen sehen Sätze mit denselben Wörtern gleich aus.
Zwei Matrizen, eine hinauf zur verborgenen Breite und eine zurück.
Das Modell wurde vor dieser Version trainiert.
Die Maske sorgt dafür, dass der Decoder nichts Späteres sieht.
Nur der Prompt wird trainiert, der Rest bleibt eingefroren.
Queries kommen aus dem Decoder, Keys und Values aus dem Encoder.
Ein Vektor fester Größe muss den ganzen Satz halten.
Die Layer sind gleich und teilen keine Parameter.
Attention ist eine Funktion einer Menge.
Wenn die Learning Rate zu groß ist, divergiert das Training.
Wir multiplizieren mit der Zahl der Heads und addieren den Bias.
Beim Greedy Decoding wird in jedem Schritt das wahrscheinlichste Token genommen.
Man kann die Zusammenfassung mit dem Text vergleichen.
In den Daten steht nichts über diese Person.
Gradienten schrumpfen auf dem Weg durch viele Schritte.
Eine niedrigere Temperatur macht die Verteilung schärfer.
Die Antwort war zur Zeit des Trainings richtig, ist aber veraltet.
"""
OTHERS = """
Le modèle lit la phrase et produit un vecteur pour chaque mot.
Il ne voit pas les mots qui viennent après dans la phrase.
El modelo lee la frase y produce un vector para cada palabra.
La respuesta era correcta cuando se entrenó el modelo.
Il modello legge la frase e non vede le parole che seguono.
Het model leest de zin en maakt een vector van elk woord.
O modelo não vê as palavras que vêm depois na frase.
Model nie widzi słów, które są na końcu zdania.
Модель читает предложение и строит вектор для каждого слова.
Το μοντέλο διαβάζει την πρόταση και φτιάχνει ένα διάνυσμα.
模型读取句子并为每个词生成一个向量。
モデルは文を読み、各単語のベクトルを作る。
النموذج يقرأ الجملة ولا يرى الكلمات اللاحقة
Model cümleyi okur ve her kelime için bir vektör üretir.
Modellen läser meningen och gör en vektor av varje ord som är med.
"""
SAMPLES = [
    (language, sentence)
    for language, text in (("en", ENGLISH), ("de", GERMAN), ("other", OTHERS))
    for sentence in text.strip().splitlines()
]


def test_the_language_of_single_sentences() -> None:
    """Of 55 sentences of an exam's sort, one at a time, at least 53 are told rightly."""
    wrong = [(right, sentence) for right, sentence in SAMPLES if prose.language(sentence) != right]
    assert len(SAMPLES) == 55
    assert len(wrong) <= 2, wrong


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (GERMAN, "de")])
def test_the_language_of_a_few_sentences(text: str, language: str) -> None:
    """Any three sentences in a row are told rightly."""
    lines = text.strip().splitlines()
    assert {language} == {prose.language(" ".join(lines[at : at + 3])) for at in range(len(lines) - 2)}


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "unknown"),
        ("42", "unknown"),
        ("$8 d_{model}^2$", "unknown"),
        ("self-attention", "unknown"),
        ("Größe", "de"),
        ("Retrieval Augmented Generation versus Greedy Decoding", "unknown"),
        ("Die **Attention** hat `n_heads` Heads und $d$ Dimensionen.", "de"),
        ("α, β and γ are the parameters of the model.", "en"),
    ],
)
def test_short_and_mixed_texts(text: str, language: str) -> None:
    """Formulas, code and Greek letters decide nothing, and too little is told to be too little."""
    assert language == prose.language(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "  \n\t",
            "...",
            "–",
            "?",
            "\u200b",
            "YOUR ANSWER HERE",
            "Your answer here.",
            "**your answer here**",
        ),
        *("Ihre Antwort hier …", "*(Deine Antwort hier)*".replace("(", "").replace(")", "")),
        *("1.\n2.\n3.", "- \n- \n", "TODO", "Double-click to edit"),
    ],
)
def test_what_says_nothing(text: str) -> None:
    """Placeholders, signs alone and the marks of an empty list are no answer."""
    assert prose.unwritten(text)


@pytest.mark.parametrize(
    "text",
    [
        "4.",
        "2",
        "no",
        "∞",
        "d",
        "your answer here: attention",
        "1. a\n2.",
        "→",
        "语言",
        "%",
        "*",
        "\U000323b0",
    ],
)
def test_what_says_something(text: str) -> None:
    """A number, a letter, a sign of a formula or one filled line is an answer for a person."""
    assert not prose.unwritten(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Attention is a set.", "attention is a set"),
        ("Attention  is\n\na set!", "“Attention” is a set"),
        ("**Retrieval**, then check", "retrieval; then check"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "café"),
        ("the ﬁrst token", "the first token"),
        ("soft\u00admax", "softmax"),
        ("a – b", "a - b"),
    ],
)
def test_trivial_differences(one: str, other: str) -> None:
    """Case, space, punctuation, emphasis and Unicode's variants do not make another answer."""
    assert prose.same_form(one) == prose.same_form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("2.5", "25"), ("d^2", "d2"), ("d²", "d2"), ("a < b", "a > b"), ("-1", "1"), ("(a+b)*c", "a+b*c")),
        *(("not right", "right"), ("d_model", "dmodel"), ("x_1", "x1"), ("½", "1/2"), ("4*d", "4d")),
    ],
)
def test_differences_that_mean_something(one: str, other: str) -> None:
    """Signs of formulas, digits and words make another answer."""
    assert prose.same_form(one) != prose.same_form(other)


@given(st.text(max_size=200))
def test_the_form_of_a_form_is_itself(text: str) -> None:
    """Taking differences away twice takes away no more, whatever was written."""
    form = prose.same_form(text)
    assert form == form.strip()
    assert prose.language(text) in ("en", "de", "other", "unknown")
    assert prose.unwritten(text) in (True, False)


def test_words_of_a_closed_list() -> None:
    """Whole words, beginnings and ends, and words in a row are found, wherever they stand."""
    text = "A SET has no order; Reihenfolgen, Wortreihenfolge, reset; end\n token; fester Größe"
    sought = ["set", "*reihenfolge*", "end token", "ord", "fest* größe"]
    found = [text[start:end] for start, end in prose.spans(text, sought)]
    assert ["SET", "Reihenfolgen", "Wortreihenfolge", "end\n token", "fester Größe"] == found


def test_signs_in_a_closed_list_are_literal() -> None:
    """Nothing in an entry is a pattern but the star at its ends; overlapping finds are one."""
    assert [] == prose.spans("aaa", ["a.a", "(a", "[a-z]"])
    assert [(0, 3)] == prose.spans("a b c", ["a b", "b", "*b*"])


def test_groups_are_those_who_wrote_the_same() -> None:
    """The largest group stands first, and everybody is in one."""
    texts = [("ada", "Yes."), ("alan", "No"), ("grace", "no!"), ("kurt", "NO"), ("emmy", "yes")]
    assert [("alan", "grace", "kurt"), ("ada", "emmy")] == prose.groups(texts)
