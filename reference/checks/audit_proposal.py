"""Checks of an audit: a proposed change of the translator, which is wrong."""

from __future__ import annotations

import functools

from autograder.checking import check, mutant, planted, solution
from reference.audits import translation
from reference.audits.claims import Input, judge_fault, judge_verdict, read_claims

AUDIT = translation.proposal
INPUTS = (Input("source", "integers", 2), Input("target", "integers", 2))
UNPROVED = {
    "en": "No finding proves this: one has to name the place, with inputs on which this fault shows.",
    "de": "Kein Befund beweist das: Einer muss die Stelle nennen, mit Eingaben, auf denen es sich zeigt.",
}
WRONG_VERDICT = {
    "en": "The verdict is wrong, or no finding proves it.",
    "de": "Das Urteil ist falsch, oder kein Befund beweist es.",
}

solution(
    source="""
import torch


def padding_leaks():
    return torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])


proposal_verdict = "faulty"
proposal_findings = [("encode", padding_leaks)]
"""
)


def findings_of(student):
    return student.proposal_findings


@functools.cache  # each item asks for them
def claims_of(student):
    return read_claims(student, findings_of, AUDIT, INPUTS)


@check(
    points=1,
    title={
        "en": "With the change the translator is faulty",
        "de": "Mit der Änderung ist der Übersetzer fehlerhaft",
    },
    told=WRONG_VERDICT,
)
def verdict(student, reference, draw):
    judge_verdict(student.proposal_verdict, claims_of(student), AUDIT)


@check(
    points=2,
    title={
        "en": "Without its mask the encoder lets padding into the memory",
        "de": "Ohne seine Maske lässt der Encoder Padding in das Memory",
    },
    told=UNPROVED,
)
def source_padding(student, reference, draw):
    judge_fault("source_padding", claims_of(student), AUDIT)


BOTH = ("verdict", "source_padding")
FINDING = '("encode", padding_leaks)'

mutant("faulty without evidence", FINDING, "", loses=BOTH)
mutant("an example without padding", "[[3, 4, 0, 0]]", "[[3, 4, 5]]", loses=BOTH)
mutant("the wrong component", '"encode"', '"decode"', loses=BOTH)
mutant("the proposal defended", edits=[('"faulty"', '"right"'), (FINDING, "")], loses=BOTH)
planted(
    "the line named",
    """
import torch
proposal_verdict = "wrong"
proposal_findings = [(30, lambda: (torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])))]
""",
)
