"""Misconceptions in the heads, the dropout and the memory of attention, and other ways of writing it."""

from __future__ import annotations

from .attention_sites import CONTEXT, DROPPING, SOFTMAX, forward, init, merge, split
from .fault import Fault

SPLITTING = (
    Fault(
        "split_without_transpose",
        (
            split("x = x.reshape(batch, length, self.n_heads, self.d_head)", ""),
            split("x.transpose(1, 2)", "x.reshape(batch, self.n_heads, length, self.d_head)"),
        ),
        {
            "en": "Splitting gives each head its own features of every token, not other tokens",
            "de": "Beim Aufteilen bekommt jeder Kopf eigene Merkmale jedes Tokens, nicht andere Tokens",
        },
        probe="values",
        difficulty=3,
    ),
    Fault(
        "merge_without_transpose",
        (merge("x = x.transpose(1, 2)", ""),),
        {
            "en": "The heads' results of one token are put side by side again",
            "de": "Die Ergebnisse der Köpfe für ein Token werden wieder nebeneinandergestellt",
        },
        probe="values",
        difficulty=3,
    ),
    Fault(
        "merge_swaps_batch",
        (merge("x.transpose(1, 2)", "x.permute(2, 0, 1, 3)"),),
        {
            "en": "Merging the heads keeps the sequences of a batch apart",
            "de": "Das Zusammenführen der Köpfe hält die Sequenzen eines Batches auseinander",
        },
        probe="batch_independence",
        difficulty=3,
    ),
    Fault(
        "heads_ignored",
        (
            split("x = x.reshape(batch, length, self.n_heads, self.d_head)", ""),
            split("x.transpose(1, 2)", "x.unsqueeze(1)"),
            merge("x = x.transpose(1, 2)", ""),
        ),
        {
            "en": "Every head has attention weights of its own",
            "de": "Jeder Kopf hat seine eigenen Attention-Gewichte",
        },
        probe="values",
    ),
    Fault(
        "first_head_only",
        (forward(CONTEXT, "context = (weights @ v)[:, :1].expand(-1, self.n_heads, -1, -1)"),),
        {
            "en": "The result is made of all heads, not of the first one alone",
            "de": "Das Ergebnis besteht aus allen Köpfen, nicht nur aus dem ersten",
        },
        probe="values",
    ),
    Fault(
        "heads_averaged",
        (forward(SOFTMAX, f"{SOFTMAX}.mean(dim=1, keepdim=True)"),),
        {
            "en": "The heads' weights are not averaged",
            "de": "Die Gewichte der Köpfe werden nicht gemittelt",
        },
        probe="values",
    ),
    Fault(
        "key_not_transposed",
        (forward("k.transpose(-2, -1)", "k.reshape(*k.shape[:2], self.d_head, -1)"),),
        {
            "en": "A score is the product of one query with one key",
            "de": "Ein Score ist das Produkt einer Query mit einem Key",
        },
        probe="values",
        difficulty=3,
    ),
)

DROPOUT = (
    Fault(
        "dropout_always",
        (forward("self.dropout(weights)", "F.dropout(weights, self.dropout.p)"),),
        {
            "en": "Nothing is dropped in evaluation mode",
            "de": "Im Auswertungsmodus wird nichts verworfen",
        },
        probe="dropout_evaluation",
    ),
    Fault(
        "dropout_before_softmax",
        (forward(DROPPING, ""), forward(SOFTMAX, "self.dropout(scores).softmax(dim=-1)")),
        {
            "en": "Dropout acts on the weights, not on the scores",
            "de": "Dropout wirkt auf die Gewichte, nicht auf die Scores",
        },
        probe="dropout_training",
        difficulty=3,
    ),
    Fault(
        "dropout_never",
        (forward(DROPPING, ""),),
        {"en": "Dropout is applied in training", "de": "Im Training wird Dropout angewandt"},
        probe="dropout_training",
    ),
)

STATE = (
    Fault(
        "divisibility_unchecked",
        (
            init(
                'if d_model % n_heads != 0:\n    raise ValueError("d_model must be a multiple of n_heads")',
                "",
            ),
        ),
        {
            "en": "A width that the heads cannot share is refused",
            "de": "Eine Breite, die sich nicht auf die Köpfe aufteilen lässt, wird abgelehnt",
        },
        probe="refuses",
        difficulty=1,
    ),
    Fault(
        "state_leak",
        (
            init("self.n_heads = n_heads", "self.n_heads = n_heads\nself.context = None"),
            forward(
                CONTEXT,
                f"{CONTEXT}\n"
                "if self.context is not None and self.context.shape == context.shape:\n"
                "    context = 0.5 * (context + self.context)\n"
                "self.context = context.detach()",
            ),
        ),
        {
            "en": "A call's result does not depend on earlier calls",
            "de": "Das Ergebnis eines Aufrufs hängt nicht von früheren ab",
        },
        probe="steady",
        difficulty=3,
    ),
    Fault(
        "float32_inside",
        (
            forward("q @ k.transpose(-2, -1)", "q.float() @ k.float().transpose(-2, -1)"),
            forward(SOFTMAX, f"{SOFTMAX}.to(v.dtype)"),
        ),
        {
            "en": "The scores keep the precision of the inputs",
            "de": "Die Scores behalten die Genauigkeit der Eingaben",
        },
        probe="precision",
        difficulty=3,
    ),
)

EQUIVALENT = (
    Fault(
        "einsum",
        (
            forward("q @ k.transpose(-2, -1)", 'torch.einsum("bhqd,bhkd->bhqk", q, k)'),
            forward("weights @ v", 'torch.einsum("bhqk,bhkd->bhqd", weights, v)'),
        ),
        {"en": "Products are written as einsum", "de": "Produkte sind als einsum geschrieben"},
        probe="",
        equivalent=True,
    ),
    Fault(
        "sdpa_call",
        (
            forward(
                CONTEXT,
                "blocked = None if mask is None else (mask == 0) * -1e9\n"
                "rate = self.dropout.p if self.training else 0.0\n"
                "context = F.scaled_dot_product_attention(q, k, v, attn_mask=blocked, dropout_p=rate)",
            ),
        ),
        {"en": "PyTorch's own attention is called", "de": "PyTorchs eigene Attention wird aufgerufen"},
        probe="",
        equivalent=True,
    ),
    Fault(
        "dropout_on_context",
        (forward(DROPPING, ""), forward(CONTEXT, "context = self.dropout(weights @ v)")),
        {"en": "Dropout acts on the heads' results", "de": "Dropout wirkt auf die Ergebnisse der Köpfe"},
        probe="",
        equivalent=True,
    ),
)

HEADS = (*SPLITTING, *DROPOUT, *STATE, *EQUIVALENT)
"""All misconceptions in the heads, and rewritings that are right."""
