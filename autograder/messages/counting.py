"""Sentences about numbers that known mistakes of counting lead to, without the right number.

The codes are those of the mistakes in the course's reference, and of the sorts (families) they belong to.
"""

from __future__ import annotations

_FAMILIES: dict[str, str] = {
    "counting.several": (
        "{what}: this number is not right, and more than one mistake leads to it. Go through the parts one "
        "by one, and then check factors and units."
    ),
    "counting.less": "{what}: something is left out. Go through the parts of the model one by one.",
    "counting.more": "{what}: something is counted that does not belong there, or is counted twice.",
    "counting.heads": (
        "{what}: check how many heads the keys and values have, and how wide they are together."
    ),
    "counting.factors": (
        "{what}: the parts are right, but a factor is not: layers, sequences, bytes, or operations of each "
        "number."
    ),
}

_PARAMETERS: dict[str, str] = {
    "counting.no-biases": (
        "{what}: you counted the matrices without their biases. Which layers of this model have some?"
    ),
    "counting.biases-added": (
        "{what}: you counted biases for the matrices. Look at the configuration: does this model have them?"
    ),
    "counting.no-norms": "{what}: the normalisation layers have parameters, too.",
    "counting.last-norm": "{what}: there is one more normalisation layer than those inside of the layers.",
    "counting.norm-biases": (
        "{what}: which parameters does this kind of normalisation have, besides or without a bias?"
    ),
    "counting.no-embeddings": "{what}: the table of token embeddings is left out.",
    "counting.no-positions": "{what}: the table of learned positions is left out.",
    "counting.no-segments": "{what}: the embeddings that tell two sentences apart are left out.",
    "counting.no-pooler": "{what}: what BERT computes from the first token at the end has parameters, too.",
    "counting.no-relative-positions": "{what}: the tables of relative positions are left out.",
    "counting.relative-positions-each-layer": (
        "{what}: not every layer has a table of relative positions. Which ones share it?"
    ),
    "counting.no-cross-attention": "{what}: the attention of the decoder to the encoder is left out.",
    "counting.old-vocabulary": "{what}: the tokenizer got further tokens. How many rows has the table now?",
    "counting.tied-head-twice": (
        "{what}: the output head shares its matrix with the token embeddings; you counted it a second time."
    ),
    "counting.no-head": "{what}: in this model the output head has a matrix of its own; it is left out.",
    "counting.multi-head": (
        "{what}: you gave keys and values as many heads as queries. This model groups its queries: see the "
        "number of key-value heads."
    ),
    "counting.single-key-head": (
        "{what}: you gave keys and values a single head. See the number of key-value heads."
    ),
    "counting.queries-only": (
        "{what}: one matrix makes queries, keys and values here. You counted one of the three."
    ),
    "counting.no-output-projection": (
        "{what}: the matrix that brings the heads' results back to the width of the model is left out."
    ),
    "counting.no-gate": "{what}: a gated MLP has a further matrix, the gate.",
    "counting.one-layer": "{what}: that is the number for a single layer.",
    "counting.all-experts-active": (
        "{what}: you counted all experts, but a token only passes through some of them."
    ),
    "counting.one-expert": "{what}: you counted one expert for each layer. How many are asked for?",
    "counting.no-router": "{what}: what chooses the experts has parameters as well.",
    "counting.everything-divided": (
        "{what}: only the MLPs are divided into experts; everything else is computed for every token."
    ),
}

_MEMORY: dict[str, str] = {
    "counting.keys-only": "{what}: the cache keeps keys and values; you counted one of the two.",
    "counting.batch-forgotten": (
        "{what}: that is the memory for a single sequence; every sequence needs its own."
    ),
    "counting.four-bytes": "{what}: you counted four bytes for each number. How many does this dtype have?",
    "counting.two-bytes": (
        "{what}: you counted two bytes for each number. Which dtype has the optimizer's copy?"
    ),
    "counting.one-byte": "{what}: that is the number of values. How many bytes does one of them have?",
    "counting.full-width": (
        "{what}: the heads together are not as wide as the model here: see how many there are."
    ),
    "counting.one-moment": "{what}: AdamW keeps more than one running average for each parameter.",
    "counting.no-gradients": "{what}: each parameter also has a gradient.",
    "counting.no-master-weights": (
        "{what}: in mixed precision the optimizer keeps a copy of the weights of its own."
    ),
    "counting.no-optimizer": "{what}: what the optimizer keeps for each parameter is left out.",
    "counting.no-scores": "{what}: what attention keeps for every pair of tokens is left out.",
    "counting.scores-of-one-head": "{what}: you counted the scores of one head; every head has its own.",
    "counting.inputs-only": (
        "{what}: one layer at a time is computed again, and needs all of its activations while it is."
    ),
    "counting.not-checkpointed": (
        "{what}: that is the memory without checkpointing. What does a checkpointed layer keep?"
    ),
}

_OPERATIONS: dict[str, str] = {
    "counting.one-operation": "{what}: a multiplication and an addition are two operations here.",
    "counting.no-attention-products": (
        "{what}: the products with weights are there, but scores and the weighted sum of values are "
        "products, too."
    ),
    "counting.scores-only": (
        "{what}: attention has two products of activations: the scores, and what they are used for."
    ),
    "counting.causal": (
        "{what}: you counted only the pairs that the causal mask leaves. The question counts all pairs."
    ),
    "counting.look-up": (
        "{what}: looking up a row of a table is no matrix product, and costs no operations here."
    ),
    "counting.forward-only": "{what}: that is the forward pass alone; training has a backward pass as well.",
    "counting.backward-once": (
        "{what}: for each product the backward pass has two: which gradients are needed?"
    ),
    "counting.rule-of-thumb": "{what}: that is the rule of thumb; the exact number is asked for.",
}

_ADAPTERS: dict[str, str] = {
    "counting.one-adapter-matrix": "{what}: an adapter has two matrices; you counted one.",
    "counting.full-matrix": "{what}: that is the matrix that is frozen, not its adapter.",
    "counting.square-adapter": "{what}: the input and the output of this matrix are not equally wide.",
}

SENTENCES: dict[str, str] = {**_FAMILIES, **_PARAMETERS, **_MEMORY, **_OPERATIONS, **_ADAPTERS}
