"""Checks of an audit: a translator with two faults in its masks."""

from __future__ import annotations

from autograder.checking import check, mutant, planted, solution
from reference.audits import translation
from reference.checks.audit_translation import claims_of
from reference.checks.claims import judge_claims, judge_fault, judge_verdict

AUDIT = translation.handed_out

solution(
    source="""
import torch


def left_padding():
    return torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])


def padded_source():
    return torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])


translator_verdict = "faulty"
translator_findings = [("make_target_mask", left_padding), ("decode", padded_source)]
"""
)


def findings_of(student):
    return student.translator_findings


@check(
    points=1,
    title={
        "en": "The translator is faulty, and one fault at least is proved",
        "de": "Der Übersetzer ist fehlerhaft, und mindestens ein Fehler ist bewiesen",
    },
)
def verdict(student, reference, draw):
    judge_verdict(student.translator_verdict, claims_of(student, findings_of, AUDIT), AUDIT)


@check(
    points=3,
    title={
        "en": "The padding of the target is masked along the wrong axis",
        "de": "Das Padding des Ziels wird entlang der falschen Achse maskiert",
    },
)
def target_padding(student, reference, draw):
    judge_fault("target_padding", claims_of(student, findings_of, AUDIT), AUDIT)


@check(
    points=2,
    title={
        "en": "Cross-attention sees the padding of the source",
        "de": "Die Cross-Attention sieht das Padding des Quelltexts",
    },
)
def cross_padding(student, reference, draw):
    judge_fault("cross_padding", claims_of(student, findings_of, AUDIT), AUDIT)


@check(points=1, title={"en": "Every finding is proved", "de": "Jeder Befund ist bewiesen"})
def claims(student, reference, draw):
    judge_claims(student.translator_findings, claims_of(student, findings_of, AUDIT), AUDIT)


FINDINGS = '[("make_target_mask", left_padding), ("decode", padded_source)]'
LEFT = "torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])"
BOTH = "torch.tensor([[3, 0, 4, 0], [0, 1, 2, 3]]), torch.tensor([[0, 6, 0], [0, 7, 8]])"
FIRST = ("target_padding", "claims")
ALL = ("verdict", "target_padding", "cross_padding", "claims")
ANSWER = "import torch\n\ndef both():\n    return " + BOTH + "\n\ntranslator_verdict = 'faulty'\n"

planted(
    "lines, and both faults shown by one example",
    ANSWER + "translator_findings = [(23, both), ('line 35', both)]\n",
)
planted("a few lines", ANSWER + "translator_findings = [('lines 22-24', both), ('lines 34-35', both)]\n")
planted(
    "spelt otherwise",
    ANSWER + "translator_findings = [('Make_Target_Mask()', both), ('cross-attention', both)]\n",
)
planted(
    "one example that shows both",
    ANSWER + "translator_findings = [('target mask', both), ('decode', both)]\n",
)
planted(
    "a dictionary",
    ANSWER
    + "def named(): return dict(zip(('source', 'target'), both()))\n"
    + "translator_findings = [('make_target_mask', named), ('decode', both)]\n",
)
mutant("padding on the right shows nothing", "[[0, 0, 6, 7]]", "[[6, 7, 0, 0]]", loses=FIRST)
mutant(
    "the other fault's example", LEFT, "torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])", loses=FIRST
)
mutant("the wrong component", '"make_target_mask"', '"make_source_mask"', loses=FIRST)
mutant("an example that raises", "return torch.tensor([[3, 4, 5]])", "return 1 // 0", loses=FIRST)
mutant("nothing but padding", "[[0, 0, 6, 7]]", "[[0, 0]]", loses=FIRST)
mutant("tokens that do not exist", "[[3, 4, 5]]", "[[99]]", loses=FIRST)
mutant("only the first", ', ("decode", padded_source)', "", loses="cross_padding")
mutant("only the second", '("make_target_mask", left_padding), ', "", loses="target_padding")
mutant("one claim too many", "padded_source)]", 'padded_source), ("embed", padded_source)]', loses="claims")
mutant("the verdict right", '"faulty"', '"right"', loses="verdict")
mutant(
    "examples exchanged",
    FINDINGS,
    '[("make_target_mask", padded_source), ("decode", left_padding)]',
    loses=ALL,
)
planted(
    "every component blamed",
    ANSWER
    + "components = ['make_target_mask', 'decode', 'encode', 'embed', 'forward']\n"
    + "translator_findings = [(name, both) for name in components]\n",
    loses=ALL,
)
planted("all lines at once", ANSWER + "translator_findings = [('lines 1-41', both)]\n", loses=ALL)
mutant(
    "claims without evidence",
    FINDINGS,
    '[("make_target_mask", lambda: None), ("decode", lambda: None)]',
    loses=ALL,
)
mutant(
    "right, without findings",
    edits=[('"faulty"', '"right"'), (FINDINGS, "[]")],
    loses=ALL,
)
