"""Audits: findings with and without proof, claims against code that is right, and inputs that are none."""

from __future__ import annotations

from collections.abc import Mapping

from autograder.demo.formulas import Sample
from autograder.demo.gpt2.samples import Worth

ATTENTION = Worth.of(verdict="2", divisibility="1")
TRANSLATOR = Worth.of(verdict="1", target_padding="3", cross_padding="2", claims="1")
PROPOSAL = Worth.of(verdict="1", source_padding="2")

_INPUTS = """
def left_padding():
    return torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])


def right_padding():
    return torch.tensor([[3, 4, 5]]), torch.tensor([[6, 7, 0, 0]])


def padded_source():
    return torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])


"""


def _attention(verdict: str, findings: str, remarks: str) -> str:
    return (
        f'attention_verdict = "{verdict}"\nattention_findings = {findings}\nattention_remarks = {remarks}\n'
    )


def _translator(verdict: str, *findings: str) -> str:
    listed = ", ".join(findings)
    return f'{_INPUTS}translator_verdict = "{verdict}"\ntranslator_findings = [{listed}]\n'


def _proposal(verdict: str, *findings: str) -> str:
    listed = ", ".join(findings)
    return f'{_INPUTS}proposal_verdict = "{verdict}"\nproposal_findings = [{listed}]\n'


_TARGET, _CROSS = '("make_target_mask", left_padding)', '("decode", padded_source)'
_SOURCE = '("encode", padded_source)'
_FAR = "lambda: (torch.ones(1, 2, 4), torch.ones(1, 3, 4), torch.ones(1, 3, 4))"

RIGHT: Mapping[str, tuple[Sample, ...]] = {
    "attention": ATTENTION.right(
        _attention("right", "[]", "[11]"),
        _attention("right", "[]", '["__init__"]'),
        _attention("correct", "[]", '["d_k"]'),
    ),
    "translator": TRANSLATOR.right(
        _translator("faulty", _TARGET, _CROSS),
        _translator("wrong", "(23, left_padding)", "(35, padded_source)"),
        _translator("faulty", '("target mask", left_padding)', '("cross-attention", padded_source)'),
    ),
    "proposal": PROPOSAL.right(
        _proposal("faulty", _SOURCE),
        _proposal("wrong", "(30, padded_source)"),
        _proposal("faulty", '("encoder", lambda: {"source": [[5, 0]], "target": [[6]]})'),
    ),
}

WRONG: Mapping[str, tuple[Sample, ...]] = {
    "attention": (
        ATTENTION.wrong("sees no missing check", _attention("right", "[]", "[]"), divisibility="0"),
        ATTENTION.wrong("remarks on something else", _attention("right", "[]", "[26]"), divisibility="0"),
        ATTENTION.wrong(
            "claims a fault in right code", _attention("faulty", f"[(27, {_FAR})]", "[11]"), verdict="0"
        ),
        ATTENTION.nothing("claims a fault without inputs", _attention("faulty", "[(25, None)]", "[]")),
    ),
    "translator": (
        TRANSLATOR.wrong("finds the target mask only", _translator("faulty", _TARGET), cross_padding="0"),
        TRANSLATOR.wrong("finds the cross mask only", _translator("faulty", _CROSS), target_padding="0"),
        TRANSLATOR.wrong(
            "proves the target mask by right padding",
            _translator("faulty", '("make_target_mask", right_padding)', _CROSS),
            target_padding="0",
            claims="0",
        ),
        TRANSLATOR.nothing("calls it right", _translator("right")),
        TRANSLATOR.nothing("blames the encoder", _translator("faulty", _SOURCE)),
    ),
    "proposal": (
        PROPOSAL.nothing("agrees with the proposal", _proposal("right")),
        PROPOSAL.nothing("objects without inputs", _proposal("faulty")),
        PROPOSAL.nothing(
            "objects with a source without padding", _proposal("faulty", '("encode", left_padding)')
        ),
        PROPOSAL.nothing("blames the decoder", _proposal("faulty", _CROSS)),
    ),
}


def _odd(name: str, worth: Worth) -> tuple[Sample, ...]:
    """Findings whose inputs are none."""
    bodies = {
        "a counterexample that raises": 'raise SystemError("no inputs")',
        "a counterexample that leaves": "raise SystemExit",
        "a counterexample of text": 'return "make_target_mask", "encode"',
        "a counterexample of objects": "return object(), object(), object()",
        "a counterexample of NaN": "return tuple(torch.full((3, 1, 2, 4), torch.nan))",
        "a counterexample without tokens": "return torch.zeros(1, 0).long(), torch.zeros(1, 0).long()",
    }
    places = ("forward", "encode", "attend", "make_target_mask")
    found = {
        portrait: f"def bad():\n    {body}\n\n\n{name}_findings = [(place, bad) for place in {places!r}]\n"
        for portrait, body in bodies.items()
    }
    found["findings without end"] = f"{name}_findings = []\n{name}_findings.append({name}_findings)\n"
    found["an object for a verdict"] = (
        f'{name}_findings = []\n{name}_verdict = type("Right", (str,), {{"__eq__": lambda *_: True}})\n'
    )
    return tuple(
        worth.nothing(portrait, source if "_verdict" in source else f'{name}_verdict = "faulty"\n{source}')
        for portrait, source in found.items()
    )


HOSTILE: Mapping[str, tuple[Sample, ...]] = {
    "attention": _odd("attention", ATTENTION),
    "translator": _odd("translator", TRANSLATOR),
    "proposal": _odd("proposal", PROPOSAL),
}
