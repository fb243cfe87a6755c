"""Sentences about answers of every kind but formulas: what was seen, and what the student can do.

``{what}`` is the name of the answer, with the case that was asked in brackets. No sentence says what
would have been right.
"""

from __future__ import annotations

from collections.abc import Mapping

_GENERAL: Mapping[str, str] = {
    "passed": "Right.",
    "needs.lacking": (
        "This holds, but it counts only together with other items of this question, which do not."
    ),
    "no-answer": "There is no answer in this cell.",
    "name.missing": (
        "“{name}” is not defined after your notebook ran. Check the spelling, and whether the cell that "
        "defines it stopped with an error."
    ),
    "name.lost": (
        "“{name}” is not there: the cell with your answer was stopped or ended Python, and the rest of the "
        "notebook was run without it. The remark at that cell says why."
    ),
    "answer.not-python": "The answer cell is not valid Python: line {line}.",
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
    "unsteady": (
        "{what} gave two different results for the same input. The same input must give the same result."
    ),
    "review.fault": "This could not be judged automatically. A person looks at it; you lose nothing by it.",
    "review.ended": (
        "While your notebook was run, its process was ended or stood still more than once, for no reason "
        "that we can see. This was therefore not judged automatically. A person looks at it."
    ),
    "review.judging": (
        "Reading and judging your answers took more than the {limit} that the grader has for a notebook. A "
        "person looks at this one."
    ),
    "review.person": "A person reads this answer.",
    "review.missing": "This was not judged because of a fault on our side. A person looks at it.",
    "refused": "The notebook could not be read, so nothing in it was graded: {reason}",
    "refused.review": "We could not open the notebook: {reason} A person looks at it.",
}

_VALUES: Mapping[str, str] = {
    "value.form": "{what}{place}: “{form}” is not the kind of value that is asked for.",
    "value.entry": "{what} has no entry {entry}.",
    "value.extra": "{what} has entries that are not asked for: {entries}",
    "value.length": "{what} has {count} parts; another number is asked for.",
    "value.text": "{what} is another text.",
    "value.number": "{what} is not the right number.",
    "value.differs": "{what} has the right shape, but {count} of {total} numbers differ.",
    "value.nan": "{what}: {count} of {total} numbers are NaN. Look for 0/0, or a softmax over only −∞.",
    "value.dtype": "{what} has the dtype {dtype}; the question asks for another one.",
    "value.device": "{what} is on the device {device}; the question asks for {wanted}.",
    "value.dimensions": "{what} has the shape {shape}: {count} axes are not the right number of axes.",
    "value.axes": "{what} has the shape {shape}: the right sizes, but the axes are in another order.",
    "value.shape": "{what} has the shape {shape}: wrong at axis {axes} (counted from 0).",
    "weights.missing": (
        "{what}: the state_dict has no {names}. The question states the names of the parameters."
    ),
    "weights.shape": "{what}: these parameters have another shape than the question states: {names}.",
    "weights.shared": (
        "{what}: two names stand for one and the same parameter: {names}. Each map needs its own."
    ),
    "weights.extra": "{what}: there are parameters that the question does not name: {names}.",
}

_COUNTS: Mapping[str, str] = {
    "count.wrong": "{what}: {value} is not right.",
    "count.bool": "{what} is {value}; a number is asked for.",
    "count.fraction": "{what} is {value}; a whole number is asked for.",
    "count.huge": "{what} is far too large a number.",
    "count.text": "{what}: “{value}” cannot be read as a whole number. Write it as 1234567 or 1,234,567.",
    "count.ambiguous": (
        "{what}: is “{value}” {first} or {second}? Write it so that it can only be read in one way."
    ),
    "count.form": "{what} is a “{form}”; a whole number is asked for.",
}

_CHOICES: Mapping[str, str] = {
    "choice.form": "{what} is a “{form}”; write one of the options as text, or several in a list.",
    "choice.wrong": "That is not the right choice.",
    "choice.some": "{count} of the {total} you chose are right; wrong ones count against right ones.",
    "choice.entry": "“{name}” is not one of the right ones.",
    "choice.unknown": "“{name}” is not one of the options.",
    "choice.repeated": "“{name}” was already your answer to an earlier part; each may be given once.",
    "choice.fewer": "You gave {count} different ones; {wanted} are asked for.",
}

SENTENCES: Mapping[str, str] = {
    **_GENERAL,
    **_VALUES,
    **_COUNTS,
    **_CHOICES,
}
