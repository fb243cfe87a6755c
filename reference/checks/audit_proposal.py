"""Checks of an audit: a proposed change of the translator, which is wrong."""

from __future__ import annotations

from autograder.checking import check, mutant, planted, solution
from reference.audits import translation
from reference.checks.audit_translation import claims_of
from reference.checks.claims import judge_fault, judge_verdict

AUDIT = translation.proposal

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


@check(
    points=1,
    title={
        "en": "With the change the translator is faulty",
        "de": "Mit der Änderung ist der Übersetzer fehlerhaft",
    },
)
def verdict(student, reference, draw):
    judge_verdict(student.proposal_verdict, claims_of(student, findings_of, AUDIT), AUDIT)


@check(
    points=2,
    title={
        "en": "Without its mask the encoder lets padding into the memory",
        "de": "Ohne seine Maske lässt der Encoder Padding in das Memory",
    },
)
def source_padding(student, reference, draw):
    judge_fault("source_padding", claims_of(student, findings_of, AUDIT), AUDIT)


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
