"""Sentences about answers of every kind except formulas: the observation, and advice for the student.

``{what}`` is the name of the answer, with the tested case in brackets. No sentence reveals the right answer.
"""

from __future__ import annotations

_GENERAL = {
    "passed": "Right.",
    "needs.lacking": (
        "This holds, but it counts only together with other items of this question, which do not."
    ),
    "no-answer": "There is no answer in this cell.",
    "file.missing": "The file {file} was not handed in.",
    "file.unchanged": "The file {file} is as it was given out: there is no answer in it.",
    "file.too-large": "The file {file} is larger than the {limit} that it may have, and was not read.",
    "file.unreadable": (
        "The file {file} could not be read: hand in the file itself, not a link or a folder of that name."
    ),
    "name.missing": (
        "“{name}” is not defined after your notebook ran. Check the spelling, and whether the cell that "
        "defines it stopped with an error or a later cell deleted it."
    ),
    "name.lost": (
        "“{name}” is not there: the cell with your answer was stopped or ended Python, and the rest of the "
        "notebook was run without it. The remark at that cell says why."
    ),
    "answer.same-mistake": (
        "{what}: not right, but by the mistake that has cost points above. It costs none here."
    ),
    "answer.not-python": (
        "The answer cell is not valid Python, so nothing of it was run. Line {line}: {reason}."
    ),
    "answer.unreadable": (
        "The answer cell is not valid Python, or is too long or too deeply nested to be read."
    ),
    "not-implemented": "“{name}” still raises NotImplementedError: it is not written yet.",
    "value.none": "{what} is None. Did you forget a return, or to assign a value?",
    "raised": "{what} stopped with {error}: {text}",
    "raised.withheld": (
        "{what} stopped with {error}. What it says is not repeated here, because hidden inputs could stand "
        "in it; call it yourself with inputs of your own to see it."
    ),
    "review.fault": "This could not be judged automatically. It needs manual review; you lose nothing by it.",
    "review.cells": (
        "Your answer cannot be identified with certainty in your notebook. The remark at the cells that may "
        "contain it says why. It needs manual review, and whoever marks it sees these cells."
    ),
    "review.text-beside": (
        "This answer's cell is blank, but your text for the same question may contain the answer. It needs "
        "manual review."
    ),
    "review.cell-type": (
        "Your answer stands in a cell of another type than the one you were given, so that it could not be "
        "read. It needs manual review."
    ),
    "review.import": (
        "Your answer needs “{package}”, which cannot be imported where notebooks are graded. It needs "
        "manual review."
    ),
    "review.stopped": (
        "The cell stopped with {error} before it came to “{name}”, which it defines further down. It needs "
        "manual review."
    ),
    "review.deleted": (
        "Your answer's cell contains a definition of “{name}”, but it is not defined after your notebook "
        "ran: its condition did not hold, or something deleted it. It needs manual review."
    ),
    "review.ended": (
        "While your notebook was run, its process was ended or stood still more than once, for no reason "
        "that we can see. This was therefore not judged automatically. It needs manual review."
    ),
    "review.judging": (
        "Reading and judging your answers took more than the {limit} that the grader has for a notebook. It "
        "needs manual review."
    ),
    "review.person": "A person reads this answer.",
    "review.missing": "This was not judged because of a fault on our side. It needs manual review.",
    "refused": "Nothing in this notebook was graded: {reason}",
    "refused.review": "The notebook could not be graded automatically: {reason} It needs manual review.",
    "review.module": (
        "Your answer needs the file “{file}”. You handed it in, but this assignment does not take it along "
        "when notebooks are graded. It needs manual review."
    ),
    "review.picture": (
        "This answer is blank, but there is a picture beside it (cells: {cells}). It may be your answer, so "
        "it needs manual review."
    ),
    "review.copy": (
        "You also handed in “{file}”, which was not graded and has another answer here. This needs manual "
        "review."
    ),
    "review.written-beside": (
        "This is not answered in the notebook, but these files were not graded: {files}. Your answer "
        "may be in one of them, so it needs manual review."
    ),
    "review.unread": (
        "This notebook earned no points, but these files were not graded: {files}. Your work may be in "
        "them, so it needs manual review."
    ),
}

_VALUES = {
    "value.entry": "{what} has no entry {entry}.",
    "value.entries": "{what} has the type {form}; expected a dictionary, a list or a tuple.",
}

_CHOICES = {
    "choice.form": "{what} is a “{form}”; write one of the options as text, or several in a list.",
    "choice.wrong": "That is not the right choice.",
    "choice.some": "{count} of the {total} you chose are right; wrong ones count against right ones.",
    "choice.entry": "“{name}” is not one of the right ones.",
    "choice.unknown": "“{name}” is not one of the options.",
    "choice.repeated": "“{name}” was already your answer to an earlier part; each may be given once.",
    "choice.fewer": "Different answers that you gave: {count}; asked for: {wanted}.",
}

_FORBIDDEN = {
    "forbidden.used": "{what} uses {names}, which this question does not allow.",
    "forbidden.look": "A person will look at how this was written.",
}

# Feedback on known counting mistakes. The codes are those of the mistakes in the course's reference,
# and of their families.
_COUNTING = {
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

_COUNTING_PARAMETERS = {
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

_COUNTING_MEMORY = {
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

_COUNTING_OPERATIONS = {
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

_COUNTING_ADAPTERS = {
    "counting.one-adapter-matrix": "{what}: an adapter has two matrices; you counted one.",
    "counting.full-matrix": "{what}: that is the matrix that is frozen, not its adapter.",
    "counting.square-adapter": "{what}: the input and the output of this matrix are not equally wide.",
}

# Phrases within sentences.
_PHRASES = {
    "phrase.your-code": "Your code",
    "phrase.exception": "an exception",
}

SENTENCES = {
    **_GENERAL,
    **_VALUES,
    **_CHOICES,
    **_FORBIDDEN,
    **_COUNTING,
    **_COUNTING_PARAMETERS,
    **_COUNTING_MEMORY,
    **_COUNTING_OPERATIONS,
    **_COUNTING_ADAPTERS,
    **_PHRASES,
}
