"""The faults of the decoder as data: what students write, and what is found in published code."""

from __future__ import annotations

from .fault import Fault
from .rewrite import Edit

BLOCK = "DecoderBlock.forward"
MAKE_BLOCK = "DecoderBlock.__init__"
DECODER = "Decoder.forward"
MAKE_DECODER = "Decoder.__init__"

_UNUSED = "without positions in the sum it has no effect on any output"
_UNREAD = (
    "with both the memory is not read at all, and two attentions over one text are told apart by name only"
)

FAULTS: tuple[Fault, ...] = (
    Fault(
        id="self_mask",
        edits=(
            Edit(
                BLOCK,
                "self.self_attention(..., ..., ..., target_mask)",
                "self.self_attention(..., ..., ..., memory_mask)",
            ),
        ),
        text={
            "en": "Self-attention keeps to what the target allows",
            "de": "Die Self-Attention hält sich an das, was das Ziel erlaubt",
        },
        probe="self_mask",
    ),
    Fault(
        id="self_unmasked",
        edits=(
            Edit(
                BLOCK,
                "self.self_attention(..., ..., ..., target_mask)",
                "self.self_attention(..., ..., ...)",
            ),
        ),
        text={
            "en": "No position of the target looks ahead",
            "de": "Keine Position des Ziels blickt voraus",
        },
        probe="self_mask",
    ),
    Fault(
        id="residual",
        edits=(Edit(BLOCK, "x + ...", "..."),),
        text={
            "en": "Self-attention adds to the state instead of replacing it",
            "de": "Die Self-Attention ergänzt den Zustand, statt ihn zu ersetzen",
        },
        probe="residual",
    ),
    Fault(
        id="norm_missing",
        edits=(Edit(BLOCK, "self.norm(...)", "..."),),
        text={
            "en": "What enters the cross-attention is normalised",
            "de": "Was in die Cross-Attention hineingeht, ist normalisiert",
        },
        probe="norm",
        difficulty=1,
    ),
    Fault(
        id="cross_mask",
        edits=(
            Edit(
                BLOCK,
                "self.cross_block(..., ..., ..., memory_mask)",
                "self.cross_block(..., ..., ..., target_mask)",
            ),
        ),
        text={
            "en": "Cross-attention keeps to what the memory allows",
            "de": "Die Cross-Attention hält sich an das, was das Memory erlaubt",
        },
        probe="cross_mask",
    ),
    Fault(
        id="memory_axis",
        edits=(
            Edit(
                BLOCK,
                "self.cross_block(..., ..., ..., memory_mask)",
                "self.cross_block(..., ..., ..., memory_mask.transpose(-2, -1))",
            ),
        ),
        text={
            "en": "A blocked position of the memory is hidden from every query",
            "de": "Eine gesperrte Position des Memory bleibt jeder Query verborgen",
        },
        probe="cross_mask",
    ),
    Fault(
        id="hidden_width",
        edits=(
            Edit(
                MAKE_BLOCK,
                "TransformerBlock(..., ..., d_hidden, ...)",
                "TransformerBlock(..., ..., d_model, ...)",
            ),
        ),
        text={
            "en": "The feed-forward networks are as wide as asked for",
            "de": "Die Feed-Forward-Netze sind so breit wie verlangt",
        },
        probe="hidden_width",
        difficulty=1,
    ),
    Fault(
        id="dropout_rate",
        edits=(
            Edit(
                MAKE_BLOCK, "TransformerBlock(..., ..., ..., dropout)", "TransformerBlock(..., ..., ..., 0.1)"
            ),
        ),
        text={
            "en": "Every layer drops at the rate that was asked for",
            "de": "Jede Schicht verwirft mit der verlangten Rate",
        },
        probe="dropout_rate",
        difficulty=1,
    ),
    Fault(
        id="token_table",
        edits=(
            Edit(
                MAKE_DECODER,
                "self.token_embedding = nn.Embedding(n_tokens, d_model)",
                "self.token_embedding = nn.Embedding(max_len, d_model)",
            ),
        ),
        text={
            "en": "Every word of the vocabulary has an embedding",
            "de": "Jedes Wort des Vokabulars hat eine Einbettung",
        },
        probe="token_table",
    ),
    Fault(
        id="token_width",
        edits=(
            Edit(
                MAKE_DECODER,
                "self.token_embedding = nn.Embedding(n_tokens, d_model)",
                "self.token_embedding = nn.Embedding(d_model, d_model)",
            ),
        ),
        text={
            "en": "There are as many embeddings as words",
            "de": "Es gibt so viele Einbettungen wie Wörter",
        },
        probe="token_table",
        difficulty=1,
    ),
    Fault(
        id="position_table",
        edits=(
            Edit(
                MAKE_DECODER,
                "self.position_embedding = nn.Embedding(max_len, d_model)",
                "self.position_embedding = nn.Embedding(n_tokens, d_model)",
            ),
        ),
        text={
            "en": "There is a position for every length that is allowed",
            "de": "Es gibt eine Position für jede erlaubte Länge",
        },
        probe="position_table",
    ),
    Fault(
        id="position_width",
        edits=(
            Edit(
                MAKE_DECODER,
                "self.position_embedding = nn.Embedding(max_len, d_model)",
                "self.position_embedding = nn.Embedding(d_model, d_model)",
            ),
        ),
        text={
            "en": "How long a text may be does not depend on the width",
            "de": "Wie lang ein Text sein darf, hängt nicht von der Breite ab",
        },
        probe="position_table",
        difficulty=1,
    ),
    Fault(
        id="shared_block",
        edits=(
            Edit(
                MAKE_DECODER,
                "[DecoderBlock(..., ..., ..., ...) for _ in range(n_layers)]",
                "[DecoderBlock(..., ..., ..., ...)] * n_layers",
            ),
        ),
        text={
            "en": "Every layer has weights of its own",
            "de": "Jede Schicht hat ihre eigenen Gewichte",
        },
        probe="shared_block",
        difficulty=3,
    ),
    Fault(
        id="shape_order",
        edits=(Edit(DECODER, "batch, length = tokens.shape", "length, batch = tokens.shape"),),
        text={
            "en": "Positions count along the text, for every batch size",
            "de": "Positionen zählen entlang des Textes, bei jeder Batchgröße",
        },
        probe="shape_order",
    ),
    Fault(
        id="position_offset",
        edits=(
            Edit(
                DECODER,
                "torch.arange(length, device=tokens.device)",
                "torch.arange(1, length + 1, device=tokens.device)",
            ),
        ),
        text={
            "en": "A text of the greatest length can be read to its end",
            "de": "Ein Text der größten Länge lässt sich bis zum Ende lesen",
        },
        probe="position_offset",
        difficulty=3,
    ),
    Fault(
        id="position_missing",
        edits=(Edit(DECODER, "... + self.position_embedding(positions)", "..."),),
        text={
            "en": "Where a word stands makes a difference",
            "de": "Es macht einen Unterschied, wo ein Wort steht",
        },
        probe="position_missing",
        difficulty=1,
        excludes=dict.fromkeys(
            ("position_table", "position_width", "position_offset", "shape_order"), _UNUSED
        ),
    ),
    Fault(
        id="embedding_dropout",
        edits=(Edit(DECODER, "self.dropout(...)", "..."),),
        text={
            "en": "Dropout acts on the embedded tokens while training",
            "de": "Beim Training wirkt Dropout auf die eingebetteten Tokens",
        },
        probe="embedding_dropout",
    ),
    Fault(
        id="dropout_always",
        edits=(Edit(DECODER, "self.dropout(...)", "F.dropout(..., self.dropout.p)"),),
        text={
            "en": "Nothing is dropped while evaluating",
            "de": "Bei der Auswertung wird nichts verworfen",
        },
        probe="dropout_always",
        difficulty=3,
        excludes={"embedding_dropout": "both stand at one place: the one takes away what the other changes"},
    ),
    Fault(
        id="first_block",
        edits=(Edit(DECODER, "self.blocks", "self.blocks[:1]"),),
        text={
            "en": "A text passes through every layer",
            "de": "Ein Text durchläuft jede Schicht",
        },
        probe="stack",
        difficulty=1,
    ),
    Fault(
        id="last_block",
        edits=(Edit(DECODER, "self.blocks", "self.blocks[-1:]"),),
        text={
            "en": "The last layer works on what the layers before it left",
            "de": "Die letzte Schicht arbeitet mit dem, was die Schichten davor hinterließen",
        },
        probe="stack",
        difficulty=1,
    ),
    Fault(
        id="cross_key",
        edits=(Edit(DECODER, "block(..., memory, ..., ..., ...)", "block(..., x, ..., ..., ...)"),),
        text={
            "en": "Cross-attention looks for its content in the memory",
            "de": "Die Cross-Attention sucht ihren Inhalt im Memory",
        },
        probe="cross_key",
        difficulty=3,
        excludes={"cross_value": _UNREAD},
    ),
    Fault(
        id="cross_value",
        edits=(Edit(DECODER, "block(..., ..., memory, ..., ...)", "block(..., ..., x, ..., ...)"),),
        text={
            "en": "Cross-attention fetches its content from the memory",
            "de": "Die Cross-Attention holt ihren Inhalt aus dem Memory",
        },
        probe="cross_value",
    ),
    Fault(
        id="output_head",
        edits=(Edit(DECODER, "return self.output_head(x)", "return x"),),
        text={
            "en": "The result scores the words of the vocabulary",
            "de": "Das Ergebnis bewertet die Wörter des Vokabulars",
        },
        probe="output_head",
        difficulty=1,
    ),
)
