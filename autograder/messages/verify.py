"""What `verify` graded, and what authors can do about its findings, in the language of the reader."""

from __future__ import annotations

from collections.abc import Mapping

_PAPERS: Mapping[str, str] = {
    "verify.answer-key": "answer key",
    "verify.untouched-release": "untouched release",
    "verify.release-with-comments": "release with comments",
    "verify.rubric": "rubric",
    "verify.course": "course",
    "verify.trial": "trial {name} of {question}",
}
_REMEDIES: Mapping[str, str] = {
    "verify.correct-named": "correct what the message names",
    "verify.correct-cell": "correct the cell in the source notebook",
    "verify.correct-key": "correct the key, or what the rubric says is right",
    "verify.answered": "look for what counts as an answer although nothing was written",
    "verify.given-away": (
        "take out of the release what gives this away: put it between the solution's markers"
    ),
    "verify.plant-fault": "plant the fault in the notebook's listing, as the file of checks states it",
    "verify.listing": "let this stand above the solution:\n{listing}",
    "verify.visible": "correct [[question.visible]], or the key; students would be misled",
    "verify.headroom": "make it faster or smaller, or raise {limit} in [assignment.limits]",
    "verify.stopped": "plant a mistake that ends, or raise the limit in [assignment.limits]",
    "verify.not-noticed": "make the check notice this, or take the item out of what the trial loses",
    "verify.is-right": (
        "this mistake is right: it equals an answer that is right; correct its 'when' or take it out"
    ),
    "verify.lost-more": (
        "find out why the check takes this for a mistake, or add the item to what the trial loses"
    ),
    "verify.open": "the check could not judge this; see the words for staff",
    "verify.decided": (
        "the check decides this; take the item out of what needs review, or raise Unclear for it"
    ),
    "verify.not-recognised": (
        "compare with assert_close or assert_equal of autograder.checking: what assert, pytest.approx, "
        "torch.testing and numpy.testing compare is not seen, and one truth value says too little"
    ),
    "verify.earlier": "look for a mistake or a step that fits earlier, or state what is given",
    "verify.speechless": (
        "put it into the kind's sentences.py, beside the __init__.py that its entry point names"
    ),
    "verify.never-lost": (
        "plant a mistake that loses it: trials = 'module:function', or a named mistake in the rubric"
    ),
    "verify.without-work": "compare with the reference there, or state needs= with a check that does",
    "verify.review-without-work": "look at the value with assert_close or assert_equal first",
}
SENTENCES: Mapping[str, str] = {**_PAPERS, **_REMEDIES}
