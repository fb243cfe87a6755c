"""Sentences about a repaired class: what was observed, never the line that repairs it."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "repair.repaired": "Repaired.",
    "repair.repaired.object": (
        "Repaired. (At the end {name} is not the class but an object made from it; its class was asked.)"
    ),
    "repair.raises": "Every call raised an error, so nothing of this could be tried. A person reads it.",
    "repair.no-tensor": (
        "A forward pass should return a tensor of floating-point numbers, but returned {kind}: {what}."
    ),
    "repair.shape": (
        "The output should be of floating-point numbers, in the shape ({batch}, {length}, n_tokens), but was "
        "{got}: {what}."
    ),
    "repair.not-finite": "The output contains NaN or infinity: {what}.",
    "repair.unsteady": (
        "Two equal calls with the same random seed gave different outputs, so nothing could be observed."
    ),
    "repair.constant": (
        "Other input tokens gave exactly the same output, so the embeddings could not be observed."
    ),
    "repair.self_mask": (
        "Hiding a target position from the later ones in the target mask did not stop it from influencing "
        "them through the self-attention."
    ),
    "repair.self_mask.future": (
        "Another token at a later position of the target changed the output at an earlier one."
    ),
    "repair.self_mask.layers": (
        "In a model of two layers, hiding a target position in the target mask did not stop it from "
        "influencing others through the second layer's self-attention."
    ),
    "repair.self_mask.closed": (
        "A target position that the target mask leaves visible did not reach the later ones through the "
        "self-attention."
    ),
    "repair.residual": (
        "Changing one target token moved the output at its own position no more than attention alone "
        "explains: what enters a decoder block does not get past its self-attention."
    ),
    "repair.residual.gate": (
        "Where the state of a position is all zeros, nothing of what the self-attention brings to it arrived "
        "in the output: the two are not added."
    ),
    "repair.residual.choice": (
        "Where the state of a position is made of very large numbers of one sign, another token there "
        "changed nothing: the state and what the self-attention brings are not added."
    ),
    "repair.residual.layers": (
        "In a model of two layers, exchanging all earlier tokens changed nothing at a position whose own "
        "embedding is very large, although each layer normalises: a later layer does not add to what it was "
        "given."
    ),
    "repair.cross_mask": "Moving a memory position that the memory mask blocks still changed the output.",
    "repair.cross_mask.causal": (
        "Moving a memory position that the memory mask leaves visible changed nothing at earlier positions "
        "of the target."
    ),
    "repair.cross_mask.layers": (
        "In a model of two layers, moving a memory position that the memory mask blocks still changed the "
        "output."
    ),
    "repair.cross_mask.inverted": (
        "The memory mask hid from the cross-attention what it allows, and showed what it blocks: with the "
        "mask inverted, it acted as it should."
    ),
    "repair.self_mask.inverted": (
        "The target mask hid from the self-attention what it allows, and showed what it blocks: with the "
        "mask inverted, it acted as it should."
    ),
    "repair.output_head.idle": (
        "The layers have no part in the output: the scores are not made from what they give."
    ),
    "repair.cross_mask.both": "Blocking a position in the target mask also hid that position of the memory.",
    "repair.cross_mask.unused": (
        "No mask could be seen to act on the cross-attention: nothing that it reads changed the output."
    ),
    "repair.position_table": (
        "In a target that is longer than the vocabulary is large, but no longer than max_len, several "
        "positions were treated alike."
    ),
    "repair.position_table.short": (
        "A target of length max_len could not be read with a position of its own for each token, and for a "
        "max_len of 0 no model could be made: there are fewer positions than max_len."
    ),
    "repair.position_table.constant": (
        "A model with a larger max_len holds no more numbers than before, and with a max_len of at least "
        "{length} a target of {length} tokens could not be read to its end."
    ),
    "repair.shape_order": (
        "With a batch of {batch} and length {length}, the same token gave the same output at the first two "
        "positions."
    ),
    "repair.shape_order.rows": (
        "With a batch of {batch} and length {length}, equal sequences gave different outputs in different "
        "rows of the batch."
    ),
    "repair.shape_order.sizes": (
        "With a batch of {batch} and length {length}, positions were counted differently than with other "
        "sizes."
    ),
    "repair.embedding_dropout": (
        "In training mode, with a dropout of 0.5, the features of the embedded tokens still had a part in "
        "the output: they are not dropped."
    ),
    "repair.embedding_dropout.tokens": (
        "In training mode, features of the tokens are dropped, but with a dropout of 0.5 those of the "
        "positions still had a part in the output: it is not their sum that dropout acts on."
    ),
    "repair.cross_value.exchanged": (
        "A position of the memory moved the output at that position and at no later one: the memory is not "
        "what is looked at."
    ),
    "repair.cross_value.pooled": (
        "It made no difference which position of the memory was moved: what arrives is the same mixture of "
        "all positions, however attention is distributed."
    ),
    "repair.cross_value": (
        "With a single memory position, replacing the memory did not change the output at all: the content "
        "of the memory does not arrive."
    ),
    "repair.cross_value.layers": (
        "In a model of two layers, with a single memory position, replacing the memory did not reach the "
        "output through the second layer: the content of the memory does not arrive there."
    ),
    "repair.output_head": (
        "With a vocabulary of {n_tokens} and a width of {d_model}, the output has {width} numbers for each "
        "position."
    ),
    "repair.output_head.weights": (
        "A larger vocabulary gave the model hardly any more weights that take part in its scores: the scores "
        "of the tokens are not computed by weights of the model."
    ),
    "repair.no-weights": "The weights of the model could not be counted: {what}.",
    "repair.norm": (
        "When the embeddings grow, they drown what the cross-attention adds: what enters it keeps their size."
    ),
    "repair.cross_key": (
        "Exchanging two visible positions of the memory changed the output: where the cross-attention looks "
        "does not follow from the memory."
    ),
    "repair.cross_key.unused": (
        "Moving a visible position of the memory changed nothing: the cross-attention does not look there."
    ),
    "repair.token_table": (
        "With a vocabulary that is larger than every other size of the model, several tokens were treated "
        "alike."
    ),
    "repair.position_offset": "In a target of length max_len, several positions were treated alike.",
    "repair.position_missing": "The same token gave the same output at different positions.",
    "repair.dropout_always": (
        "In evaluation mode and with a dropout of 0.5, two passes with different random seeds gave different "
        "outputs."
    ),
    "repair.dropout_rate": (
        "In training mode a layer did not drop at the rate that was asked for: with a dropout of 0 its "
        "output depended on the random seed, or with a dropout of 1 on the memory."
    ),
    "repair.hidden_width": "A larger d_hidden gave the model no more weights that take part in its output.",
    "repair.shared_block": "A model with two layers has hardly more weights than a model with one.",
    "repair.stack": "In a model with two layers, only one of them had an influence on the output.",
}
