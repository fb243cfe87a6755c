"""Planted answers to the audits: what each must lose, and what is right as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Trial = dict[str, Any]

_LEFT = "torch.tensor([[3, 4, 5]]), torch.tensor([[0, 0, 6, 7]])"
_RIGHT = "torch.tensor([[3, 4, 5]]), torch.tensor([[6, 7, 0, 0]])"
_SOURCE = "torch.tensor([[3, 4, 0, 0]]), torch.tensor([[6, 7, 8]])"
_BOTH = "torch.tensor([[3, 0, 4, 0], [0, 1, 2, 3]]), torch.tensor([[0, 6, 0], [0, 7, 8]])"


def _trial(name: str, source: str, *loses: str, **points: float) -> Trial:
    return {"name": name, "source": source, "loses": list(loses), "points": points}


def _answer(prefix: str, verdict: str, findings: Sequence[tuple[Any, str]]) -> str:
    """An answer cell with these findings: place, and what its function returns."""
    made = ", ".join(f"({place!r}, lambda: ({inputs}))" for place, inputs in findings)
    return f"import torch\n\n{prefix}_verdict = {verdict!r}\n{prefix}_findings = [{made}]\n"


# ---------------------------------------------------------------- the class that is right


def attention() -> list[Trial]:
    """Faults claimed in a class that has none, and where the remark may stand."""
    numbers = "torch.randn(1, 3, 8), torch.randn(1, 4, 8), torch.randn(1, 4, 8)"

    def answered(verdict: str, findings: Sequence[tuple[Any, str]], remarks: list[Any]) -> str:
        return _answer("attention", verdict, findings) + f"attention_remarks = {remarks!r}\n"

    return [
        _trial("the constructor named", answered("correct", [], ["__init__"])),
        _trial("the line of the head's width named", answered("RIGHT", [], ["line 11"])),
        _trial("faulty without evidence", answered("faulty", [], [11]), "verdict"),
        _trial("faulty with ordinary inputs", answered("faulty", [("attend", numbers)], [11]), "verdict"),
        _trial("right, but a fault claimed", answered("right", [("attend", numbers)], [11]), "verdict"),
        _trial(
            "divisibility claimed as a fault",
            answered("faulty", [("__init__", f"{numbers}, None, 3")], [11]),
            *("verdict", "divisibility"),
        ),
        _trial(
            "a mask that blocks everything",
            answered("faulty", [("attend", f"{numbers}, torch.zeros(1, 1, 3, 4)")], [11]),
            "verdict",
        ),
        _trial(
            "not a number",
            answered("faulty", [("attend", numbers.replace("8)", "8) * float('nan')"))], [11]),
            "verdict",
        ),
        _trial(
            "huge numbers",
            answered("faulty", [("attend", numbers.replace("8)", "8) * 1e30"))], [11]),
            "verdict",
        ),
        _trial("no remark", answered("right", [], []), "divisibility"),
        _trial("a remark about something else", answered("right", [], ["split_heads", 20]), "divisibility"),
        _trial(
            "every component remarked",
            answered("right", [], ["__init__", "split_heads", "combine_heads", "attend", "forward"]),
            "divisibility",
        ),
        _trial("every line remarked", answered("right", [], list(range(1, 36))), "divisibility"),
    ]


# ---------------------------------------------------------------- the translator


_FIRST, _SECOND = ("make_target_mask", _LEFT), ("decode", _SOURCE)
_NOT_PROVED = ("target_padding", "claims")
_NOTHING = ("verdict", "target_padding", "cross_padding", "claims")


def translator() -> list[Trial]:
    """Two faults found, named and proved in several ways; and claims that prove something else."""
    return [*_proved_otherwise(), *_first_not_proved(), *_little_or_nothing()]


def _found(*findings: tuple[Any, str], verdict: str = "faulty") -> str:
    return _answer("translator", verdict, findings)


def _proved_otherwise() -> list[Trial]:
    return [
        _trial("lines instead of components", _found((23, _LEFT), ("line 35", _SOURCE))),
        _trial("a few lines", _found(("lines 22-24", _LEFT), ("lines 34-35", _SOURCE))),
        _trial("spelt otherwise", _found(("Make_Target_Mask()", _LEFT), ("cross-attention", _SOURCE))),
        _trial("one example that shows both", _found(("target mask", _BOTH), ("decode", _BOTH))),
        _trial("a dictionary", _found(_FIRST, _SECOND).replace(f"({_LEFT})", _as_dictionary(_LEFT))),
    ]


def _first_not_proved() -> list[Trial]:
    """The second fault is found and proved; the first one is not."""
    claims = {
        "padding on the right shows nothing": ("make_target_mask", _RIGHT),
        "the other fault's example": ("make_target_mask", _SOURCE),
        "the wrong component": ("make_source_mask", _LEFT),
        "an example that raises": ("make_target_mask", "1 // 0"),
        "nothing but padding": ("make_target_mask", "torch.tensor([[3]]), torch.tensor([[0, 0]])"),
        "tokens that do not exist": ("make_target_mask", "torch.tensor([[99]]), torch.tensor([[0, 1]])"),
    }
    return [_trial(name, _found(claim, _SECOND), *_NOT_PROVED) for name, claim in claims.items()]


def _little_or_nothing() -> list[Trial]:
    components = ("make_target_mask", "decode", "encode", "embed", "forward")
    without = _found(_FIRST, _SECOND).replace("lambda:", "lambda: None and")
    return [
        _trial("only the first", _found(_FIRST), "cross_padding"),
        _trial("only the second", _found(_SECOND), "target_padding"),
        _trial("one claim too many", _found(_FIRST, _SECOND, ("embed", _RIGHT)), "claims"),
        _trial("the verdict right", _found(_FIRST, _SECOND, verdict="right"), "verdict"),
        _trial("examples exchanged", _found(("make_target_mask", _SOURCE), ("decode", _LEFT)), *_NOTHING),
        _trial("every component blamed", _found(*((name, _BOTH) for name in components)), *_NOTHING),
        _trial("all lines at once", _found(("lines 1-41", _BOTH)), *_NOTHING),
        _trial("claims without evidence", without, *_NOTHING),
        _trial("right, without findings", _found(verdict="right"), *_NOTHING),
    ]


def _as_dictionary(inputs: str) -> str:
    source, target = inputs.split("), ")
    return f"dict(source={source}), target={target})"


def proposal() -> list[Trial]:
    """The proposal defended, doubted without proof, and refuted in other words."""

    def answered(verdict: str, *findings: tuple[Any, str]) -> str:
        return _answer("proposal", verdict, findings)

    return [
        _trial("the line named", answered("wrong", (30, _SOURCE))),
        _trial("the proposal defended", answered("right"), "verdict", "source_padding"),
        _trial("faulty without evidence", answered("faulty"), "verdict", "source_padding"),
        _trial(
            "an example without padding",
            answered("faulty", ("encode", _LEFT)),
            *("verdict", "source_padding"),
        ),
        _trial("the wrong component", answered("faulty", ("decode", _SOURCE)), "verdict", "source_padding"),
    ]


# ---------------------------------------------------------------- the test

_LAYER = """
    layer = cls(12, 3).eval()
    torch.manual_seed(2)
    query, key, value = torch.randn(2, 4, 12), torch.randn(2, 4, 12), torch.randn(2, 4, 12)
    mask = torch.rand(2, 1, 4, 4) > 0.4
    mask[..., 0] = True
"""
_WANTED = """
    def heads(linear, x):
        return linear(x).unflatten(-1, (3, 4)).transpose(1, 2)
    def wanted(allowed):
        q, k, v = heads(layer.q_proj, query), heads(layer.k_proj, key), heads(layer.v_proj, value)
        context = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        return layer.out_proj(context.transpose(1, 2).flatten(2))
    def agrees(allowed):
        return torch.allclose(layer(query, key, value, allowed), wanted(allowed), atol=1e-5)
"""
_ITEMS = ("all", "masks", "scaling", "batches")


def _test(body: str) -> str:
    return f"import torch\n\n\ndef audit(cls):\n    {body.strip()}\n"


def test() -> list[Trial]:
    """Tests that look at enough, at too little, at something else, or at nothing."""
    whole = f"{_LAYER}{_WANTED}"
    look = "repr(cls) + cls.__name__ + cls.__module__ + str(len(cls.forward.__code__.co_code))"
    return [
        _trial("a truth of torch", _test(f"{whole}    return torch.tensor(agrees(None) and agrees(mask))")),
        _trial("always True", _test("return True"), *_ITEMS, all=0),
        _trial("always False", _test("return False"), *_ITEMS, all=0),
        _trial("a number", _test("return 1"), *_ITEMS, all=0),
        _trial("nothing", _test("pass"), *_ITEMS, all=0),
        _trial("raises", _test("raise AssertionError(cls)"), *_ITEMS, all=0),
        _trial(
            "shapes only",
            _test(f"{_LAYER}    return layer(query, key, value).shape == query.shape"),
            *_ITEMS,
        ),
        _trial("without a mask", _test(f"{whole}    return agrees(None)"), "all", "masks", "batches"),
        _trial(
            "one sequence only",
            _test(
                f"{whole}    query, key, value, mask = query[:1], key[:1], value[:1], mask[:1]\n"
                "    return agrees(None) and agrees(mask)"
            ),
            *("all", "batches"),
        ),
        _trial(
            "no tolerance",
            _test(f"{whole}    return torch.equal(layer(query, key, value, mask), wanted(mask))"),
            *_ITEMS,
        ),
        _trial("decides by looks", _test(f"return ({look}) > 'a lot of text'"), *_ITEMS, all=0),
        _trial(
            "decides by the source",
            _test("import inspect\n    return 'softmax' in inspect.getsource(cls)"),
            *_ITEMS,
            all=0,
        ),
        _trial(
            "decides by the order of calls",
            _test("audit.calls = getattr(audit, 'calls', 0) + 1\n    return audit.calls <= 8"),
            *_ITEMS,
        ),
    ]
