"""Sentences about answers of every kind except formulas: the observation, and advice for the student.

``{what}`` is the name of the answer, with the tested case in brackets. No sentence reveals the right answer.
"""

from __future__ import annotations

_GENERAL = {
    "passed": "Right.",
    "needs.lacking": (
        "This earns no points because it depends on another item of this question that is not fully right."
    ),
    "no-answer": "There is no answer here.",
    "file.missing": "The file {file} was not submitted.",
    "file.unchanged": "The file {file} is unchanged, so it contains no answer.",
    "file.too-large": "The file {file} is larger than the allowed {limit}, so it was not read.",
    "file.unreadable": (
        "The file {file} could not be read. Submit the file itself, not a link or a folder of that name."
    ),
    "name.missing": (
        "“{name}” is not defined after your notebook ran. Check the spelling, whether the cell that defines "
        "it stopped with an error, and whether a later cell deleted it."
    ),
    "name.lost": (
        "“{name}” is not defined after your notebook ran, and at least one cell did not finish. The remark "
        "at that cell says why."
    ),
    "answer.same-mistake": (
        "{what}: not right, but the cause is a mistake that already cost points above. You lose no points "
        "for it here."
    ),
    "answer.not-python": "Your answer is not valid Python, so it cannot be run. Line {line}: {reason}.",
    "answer.unreadable": (
        "Your answer is not valid Python, or it is too long or too deeply nested to be read."
    ),
    "not-implemented": (
        "“{name}” raises NotImplementedError. If the placeholder is still there, replace it with your own "
        "code."
    ),
    "value.none": "{what} is None. Is a return statement or an assignment missing?",
    "raised": "{what} stopped with {error}: {text}",
    "raised.withheld": (
        "{what} stopped with {error}. The error message is not shown because it could contain hidden inputs. "
        "Call your code with inputs of your own to find the cause."
    ),
    "review.fault": (
        "This could not be graded automatically, so it needs manual review. You lose no points because of "
        "that."
    ),
    "review.cells": (
        "It is not certain which part of your notebook is this answer, so it needs manual review. The grader "
        "sees every cell that may contain the answer."
    ),
    "review.text-beside": (
        "This answer cell is blank, but your text for the same question may contain the answer. It needs "
        "manual review."
    ),
    "review.cell-type": (
        "The type of this answer cell (code or text) was changed, so your answer could not be graded "
        "automatically. It needs manual review."
    ),
    "review.import": (
        "Your answer seems to need “{package}”, which cannot be imported during grading. It needs manual "
        "review."
    ),
    "review.stopped": (
        "A cell stopped with {error} before it finished defining “{name}”. This needs manual review."
    ),
    "review.deleted": (
        "Your answer cell contains a definition of “{name}”, but “{name}” is not defined after your notebook "
        "ran. A condition may not have held, or another cell may have deleted it. This needs manual review."
    ),
    "review.ended": (
        "While your notebook was running, its process ended or stopped responding more than once for an "
        "unknown reason. This was not graded automatically and needs manual review."
    ),
    "review.judging": (
        "Grading this notebook used more than the {limit} of computing time available, so this was not "
        "graded automatically. It needs manual review."
    ),
    "review.person": "This answer needs manual review.",
    "review.missing": "This was not graded because of an error on our side. It needs manual review.",
    "refused": "Nothing in this notebook was graded: {reason}",
    "refused.review": "The notebook could not be graded automatically: {reason} It needs manual review.",
    "review.module": (
        "Your answer seems to need the file “{file}”. You submitted it, but this assignment does not use it "
        "for grading. Your answer needs manual review."
    ),
    "review.picture": (
        "No answer was found here, but a picture nearby may be your answer (cells: {cells}). It needs manual "
        "review."
    ),
    "review.copy": (
        "You also submitted “{file}”, which was not graded and contains a different answer here. This needs "
        "manual review."
    ),
    "review.written-beside": (
        "No answer was found here, but it may be in a file that was not graded ({files}). This needs manual "
        "review."
    ),
    "review.unread": (
        "This notebook earned no points, but your work may be in a file that was not graded ({files}). This "
        "needs manual review."
    ),
}

_VALUES = {
    "value.entry": "{what} has no entry {entry}.",
    "value.entries": "{what} has the type {form}; expected a dictionary, a list or a tuple.",
}

_CHOICES = {
    "choice.form": "{what} is a “{form}”; write one of the options as text, or several in a list.",
    "choice.wrong": "This choice is not right.",
    "choice.some": "Choices: {total}; right: {count}. Each wrong choice cancels out a right one.",
    "choice.entry": "“{name}” is not one of the right options.",
    "choice.unknown": "“{name}” is not one of the options.",
    "choice.repeated": (
        "“{name}” was already your answer to an earlier part. You may give each answer only once."
    ),
    "choice.fewer": "Different answers given: {count}; expected: {wanted}.",
}

_FORBIDDEN = {
    "forbidden.used": "{what} uses {names}, which this question does not allow.",
    "forbidden.look": "The way this is written needs manual review.",
}

# Feedback on known counting mistakes. The codes are those of the mistakes in the course's reference,
# and of their families.
_COUNTING = {
    "counting.several": (
        "{what}: this number is not right, and more than one mistake could explain it. Go through the parts "
        "one by one, and then check factors and units."
    ),
    "counting.less": (
        "{what}: check whether you left something out. Go through the parts of the model one by one."
    ),
    "counting.more": (
        "{what}: check whether you counted something that does not belong there, or counted something twice."
    ),
    "counting.heads": (
        "{what}: check how many heads the keys and values have, and how wide they are together."
    ),
    "counting.factors": (
        "{what}: check the factors, such as the number of layers or sequences, and bytes or operations per "
        "number."
    ),
}

_COUNTING_PARAMETERS = {
    "counting.no-biases": (
        "{what}: this is the number without the biases of the matrices. Which layers of this model have "
        "biases?"
    ),
    "counting.biases-added": (
        "{what}: this is the number with biases for the matrices. Look at the configuration: does this model "
        "have them?"
    ),
    "counting.no-norms": "{what}: the normalisation layers have parameters, too.",
    "counting.last-norm": (
        "{what}: at least one normalisation layer is outside the transformer layers; it counts as well."
    ),
    "counting.norm-biases": (
        "{what}: which parameters does this kind of normalisation have? Does it have a bias?"
    ),
    "counting.no-embeddings": "{what}: the embeddings are left out.",
    "counting.no-positions": "{what}: the table of learned position embeddings is left out.",
    "counting.no-segments": "{what}: the segment embeddings, which tell two sentences apart, are left out.",
    "counting.no-pooler": (
        "{what}: the pooler, which BERT applies to the first token at the end, has parameters, too."
    ),
    "counting.no-relative-positions": "{what}: the tables of relative position embeddings are left out.",
    "counting.relative-positions-each-layer": (
        "{what}: not every layer has its own table of relative positions. Which layers share one?"
    ),
    "counting.no-cross-attention": (
        "{what}: the cross-attention, from the decoder to the encoder, is left out."
    ),
    "counting.old-vocabulary": (
        "{what}: tokens were added to the tokenizer. How many rows does the table have now?"
    ),
    "counting.tied-head-twice": (
        "{what}: the output head shares its matrix with the token embeddings; you counted it a second time."
    ),
    "counting.no-head": "{what}: the output head is left out.",
    "counting.multi-head": (
        "{what}: this is the number with as many key and value heads as query heads. Look at the number of "
        "key-value heads of this model."
    ),
    "counting.single-key-head": (
        "{what}: this is the number with a single key-value head. Look at the number of key-value heads of "
        "this model."
    ),
    "counting.queries-only": (
        "{what}: one matrix produces queries, keys and values here. You counted one of the three."
    ),
    "counting.no-output-projection": (
        "{what}: the output projection, which maps the heads' results back to the width of the model, is "
        "left out."
    ),
    "counting.no-gate": "{what}: a gated MLP has a further matrix, the gate.",
    "counting.one-layer": "{what}: this is the number for a single layer.",
    "counting.all-experts-active": (
        "{what}: this is the number with all experts, but a token passes through only some of them."
    ),
    "counting.one-expert": "{what}: this is the number with one expert per layer. How many are asked for?",
    "counting.no-router": "{what}: the router, which chooses the experts, has parameters, too.",
    "counting.everything-divided": (
        "{what}: only the MLPs are divided into experts; everything else is computed for every token."
    ),
}

_COUNTING_MEMORY = {
    "counting.keys-only": "{what}: the cache keeps keys and values; you counted one of the two.",
    "counting.batch-forgotten": (
        "{what}: this is the number for a single sequence. Count every sequence of the batch."
    ),
    "counting.four-bytes": (
        "{what}: this is the number at four bytes per value. How many bytes does this dtype have?"
    ),
    "counting.two-bytes": (
        "{what}: this is the number at two bytes per value. Which dtype does the optimizer's copy have?"
    ),
    "counting.one-byte": "{what}: this is the number of values. How many bytes does one of them have?",
    "counting.full-width": (
        "{what}: keys and values are not as wide as the model here. Look at the number of heads and their "
        "width."
    ),
    "counting.one-moment": "{what}: AdamW keeps more than one running average for each parameter.",
    "counting.no-gradients": "{what}: each parameter also has a gradient.",
    "counting.no-master-weights": (
        "{what}: in mixed precision, the optimizer keeps its own copy of the weights."
    ),
    "counting.no-optimizer": "{what}: the optimizer state of each parameter is left out.",
    "counting.no-scores": (
        "{what}: the activations that attention keeps for every pair of tokens are left out."
    ),
    "counting.scores-of-one-head": "{what}: you counted the scores of one head; every head has its own.",
    "counting.inputs-only": (
        "{what}: the backward pass recomputes one layer at a time and needs all activations of that layer."
    ),
    "counting.not-checkpointed": (
        "{what}: this is the memory without checkpointing. What does a checkpointed layer keep?"
    ),
}

_COUNTING_OPERATIONS = {
    "counting.one-operation": "{what}: a multiplication and an addition are two operations here.",
    "counting.no-attention-products": (
        "{what}: the products with weights are counted, but the scores and the weighted sum of the values "
        "are products, too."
    ),
    "counting.scores-only": (
        "{what}: attention has two products of activations; the scores are only the first."
    ),
    "counting.causal": (
        "{what}: you counted only the pairs that the causal mask leaves. The question counts all pairs."
    ),
    "counting.look-up": (
        "{what}: looking up a row of a table is not a matrix product and costs no operations here."
    ),
    "counting.forward-only": "{what}: this is the forward pass alone; training has a backward pass as well.",
    "counting.backward-once": (
        "{what}: for each product of the forward pass, the backward pass has two. Which gradients does it "
        "need?"
    ),
    "counting.rule-of-thumb": "{what}: this is the rule of thumb; the exact number is asked for.",
}

_COUNTING_ADAPTERS = {
    "counting.one-adapter-matrix": "{what}: an adapter has two matrices; you counted one.",
    "counting.full-matrix": "{what}: this is the size of the frozen matrix, not of its adapter.",
    "counting.square-adapter": "{what}: the input and the output of an adapted matrix can differ in width.",
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
