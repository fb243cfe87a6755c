"""Checks of an audit: a class for attention that is right, and deserves a remark."""

from __future__ import annotations

from autograder.checking import check, planted, solution
from reference.audits import attention
from reference.checks.claims import Input, judge_remark, judge_verdict, read_claims

AUDIT = attention.right
INPUTS = (
    Input("query", "numbers", 3),
    Input("key", "numbers", 3),
    Input("value", "numbers", 3),
    Input("mask", "mask", 4, optional=True),
    Input("num_heads", "size", optional=True),
)
solution(
    source="""
import torch

attention_verdict = "right"
attention_findings = []
attention_remarks = [11]  # d_model has to be a multiple of num_heads, and nothing says so
"""
)


def findings_of(student):
    return student.attention_findings


@check(
    points=2,
    title={
        "en": "The class is right, and no fault is claimed",
        "de": "Die Klasse ist richtig, und kein Fehler wird behauptet",
    },
)
def verdict(student, reference, draw):
    claims = read_claims(student, findings_of, AUDIT, INPUTS)
    judge_verdict(student.attention_verdict, claims, AUDIT)


@check(
    points=1,
    title={
        "en": "Nothing checks that the width is a multiple of the number of heads: a remark, no fault",
        "de": "Nichts prüft, dass die Breite ein Vielfaches der Kopfzahl ist: eine Anmerkung, kein Fehler",
    },
)
def divisibility(student, reference, draw):
    findings = getattr(student, "attention_findings", ())
    judge_remark("divisibility", student.attention_remarks, findings, AUDIT)


RIGHT = "import torch\nattention_verdict = 'right'\n"
FAULTY = "import torch\nattention_verdict = 'faulty'\n"
NO_FINDINGS = "attention_findings = []\n"
INPUT = "torch.randn(1, 3, 8), torch.randn(1, 4, 8), torch.randn(1, 4, 8)"
ATTEND = "attention_findings = [('attend', lambda: ("
REMARK = "attention_remarks = [11]\n"

planted(
    "the constructor named",
    "attention_verdict = 'correct'\n" + NO_FINDINGS + "attention_remarks = ['__init__']\n",
)
planted(
    "the line of the head's width named",
    "attention_verdict = 'RIGHT'\n" + NO_FINDINGS + "attention_remarks = ['line 11']\n",
)
planted("faulty without evidence", FAULTY + NO_FINDINGS + REMARK, loses="verdict")
planted("faulty with ordinary inputs", FAULTY + ATTEND + INPUT + "))]\n" + REMARK, loses="verdict")
planted("right, but a fault claimed", RIGHT + ATTEND + INPUT + "))]\n" + REMARK, loses="verdict")
planted(
    "divisibility claimed as a fault",
    FAULTY + "attention_findings = [('__init__', lambda: (" + INPUT + ", None, 3))]\n" + REMARK,
    loses=["verdict", "divisibility"],
)
planted(
    "a mask that blocks everything",
    FAULTY + ATTEND + INPUT + ", torch.zeros(1, 1, 3, 4)))]\n" + REMARK,
    loses="verdict",
)
planted(
    "not a number",
    FAULTY + ATTEND + "*[x * float('nan') for x in (" + INPUT + ")],))]\n" + REMARK,
    loses="verdict",
)
planted(
    "huge numbers",
    FAULTY + ATTEND + "*[x * 1e30 for x in (" + INPUT + ")],))]\n" + REMARK,
    loses="verdict",
)
planted("no remark", RIGHT + NO_FINDINGS + "attention_remarks = []\n", loses="divisibility")
planted(
    "a remark about something else",
    RIGHT + NO_FINDINGS + "attention_remarks = ['split_heads', 20]\n",
    loses="divisibility",
)
planted(
    "every component remarked",
    RIGHT
    + NO_FINDINGS
    + "attention_remarks = ['__init__', 'split_heads', 'combine_heads', 'attend', 'forward']\n",
    loses="divisibility",
)
planted(
    "every line remarked",
    RIGHT + NO_FINDINGS + "attention_remarks = list(range(1, 36))\n",
    loses="divisibility",
)
