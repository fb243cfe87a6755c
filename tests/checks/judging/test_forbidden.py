"""Names that a question forbids: told from the source, and seen while the answer runs."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
import torch

from autograder.checks.base import Evidence
from autograder.checks.judging.forbidden import mentions, recording
from autograder.messages import languages, render
from autograder.records import Call, ItemResult, Scenario, Status
from reference.listings import GIVEN
from tests.checks.asking import DRAW, answer, check_of
from tests.kinds.transformers.attention_styles import STYLES
from tests.support.local_box import LocalBox

FORBIDDEN = ("scaled_dot_product_attention", "MultiheadAttention")
BEHAVIOUR = f"""
[[question]]
id = "q"
kind = "behaviour"
points = 3
answer = "attend"
reference = "attention:attend"
forbidden = {list(FORBIDDEN)}
[[question.case]]
args = [
  {{ draw = "normal", shape = [2, 5, 4] }},
  {{ draw = "normal", shape = [2, 6, 4] }},
  {{ draw = "normal", shape = [2, 6, 4] }},
]
[[question.item]]
id = "value"
points = 2
text = {{ en = "Value" }}
[[question.item]]
id = "batch"
points = 1
text = {{ en = "Batch" }}
property = "batch_independence"
move = [0, 1, 2]
"""
IMPLEMENTATION = f"""
[[question]]
id = "q"
kind = "implementation"
points = 3
answer = "MultiHeadAttention"
sizes = {{ d_model = [12], n_heads = [3] }}
take_first = true
forbidden = {list(FORBIDDEN)}
[[question.case]]
args = [{{ draw = "normal", shape = [2, 5, 12] }}, {{ same = 0 }}, {{ same = 0 }}]
[[question.item]]
id = "value"
points = 2
text = {{ en = "Value" }}
[[question.item]]
id = "batch"
points = 1
text = {{ en = "Batch" }}
property = "batch_independence"
"""
HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
RIGHT = f"{HEAD}def attend(q, k, v):\n    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"


@pytest.fixture(autouse=True)
def _torch_as_it_was() -> Iterator[None]:
    """What helper cells replace in torch is replaced in this process."""
    modules = (torch, torch.overrides, torch.nn, torch.nn.functional)
    before = [dict(vars(module)) for module in modules]
    yield
    for module, names in zip(modules, before, strict=True):
        vars(module).update(names)


def sit(
    source: str, question: str = BEHAVIOUR, *, before: str = "", read: bool = True
) -> dict[str, ItemResult]:
    """The results of an answer cell, with another cell run before it, and perhaps not read."""
    check, given = check_of(question), answer(source)
    observed = LocalBox(before, source).ask(check.plan(given, DRAW))
    expected = LocalBox(RIGHT).ask(check.reference_plan(DRAW))
    return {
        one.item: one
        for one in check.judge(Evidence(given, observed, expected, cells=(before,) * read, draw=DRAW))
    }


CALLS = {
    "by its name": "def attend(q, k, v): return F.scaled_dot_product_attention(q, k, v)",
    "by another name": "from torch.nn.functional import scaled_dot_product_attention as f\n"
    "def attend(q, k, v): return f(q, k, v)",
    "by getattr": "def attend(q, k, v): return getattr(F, 'scaled_dot' + '_product_attention')(q, k, v)",
    "below torch._C": "def attend(q, k, v): return torch._C._nn.scaled_dot_product_attention(q, k, v)",
    "as an operator": "def attend(q, k, v): return torch.ops.aten.scaled_dot_product_attention(q, k, v)",
    "its twin": "def attend(q, k, v): return torch._scaled_dot_product_attention_math(q, k, v)[0]",
    "from a table": "table = vars(F)\nname = 'scaled_dot'\n"
    "def attend(q, k, v): return table[name + '_product_attention'](q, k, v)",
    "in a helper": "def product(*x): return F.scaled_dot_product_attention(*x)\n"
    "def attend(q, k, v): return product(q, k, v)",
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_forbidden_is_seen_however_it_is_reached(call: str) -> None:
    """The call is recorded under torch's own name for it, and every item of the question is lost."""
    results = sit(f"{HEAD}{call}\n")
    assert {("forbidden.used", Decimal(0))} == {(one.code, one.points) for one in results.values()}
    for language in languages():
        assert "scaled_dot_product_attention" in render(results["value"].student, language)


@pytest.mark.parametrize(
    "own",
    [
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scaled_dot_product_attention = F.scaled_dot_product_attention\n"
        "    def forward(self, *x): return self.scaled_dot_product_attention(*x)\nattend = A()\n",
        "scaled_dot_product_attention = F.scaled_dot_product_attention\n"
        "def attend(q, k, v): return scaled_dot_product_attention(q, k, v)\n",
    ],
)
def test_a_name_of_ones_own_for_torchs_function_hides_nothing(own: str) -> None:
    """What the name stands for is seen when it is called."""
    assert {"forbidden.used"} == {one.code for one in sit(HEAD + own).values()}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:flex_attention called without:UserWarning")
def test_flex_attention_is_seen() -> None:
    """The name that an author forbids is the one that is recorded."""
    question = BEHAVIOUR.replace(str(list(FORBIDDEN)), '["flex_attention"]')
    source = (
        "from torch.nn.attention.flex_attention import flex_attention as mine\n"
        "def attend(q, k, v): return mine(q[:, None], k[:, None], v[:, None])[:, 0]\n"
    )
    assert {"forbidden.used"} == {one.code for one in sit(source, question).values()}


def test_a_cell_that_is_not_read_cannot_hide_it() -> None:
    """A function captured in another cell is recorded, though the answer names nothing."""
    before = "from torch.nn.functional import scaled_dot_product_attention as attention_of_my_own"
    source = f"{HEAD}def attend(q, k, v): return attention_of_my_own(q, k, v)\n"
    for read, told in ((False, "nothing"), (True, "scaled_dot_product_attention (in another cell, line 1)")):
        results = sit(source, before=before, read=read)
        assert {"forbidden.used"} == {one.code for one in results.values()}
        assert f"in the source: {told}" in results["value"].staff


DERIVATIVES = {
    "autograd.grad": "torch.autograd.grad(loss(x := q.clone().requires_grad_()), x)[0]",
    "autograd.backward": "[x := torch.nn.Parameter(q), torch.autograd.backward(loss(x))] and x.grad",
    "Tensor.backward": "[x := torch.nn.Parameter(q), loss(x).backward()] and x.grad",
    "func.grad": "torch.func.grad(loss)(q)",
    "func.vjp": "torch.func.vjp(loss, q)[1](torch.ones(()))[0]",
    "func.jvp": "torch.func.jvp(loss, (q,), (q,))[1]",
    "func.jacrev": "torch.func.jacrev(loss)(q)",
    "func.jacfwd": "torch.func.jacfwd(loss)(q)",
    "autograd.functional": "torch.autograd.functional.jacobian(loss, q)",
}


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")  # of torch's own, on the way to jvp
@pytest.mark.parametrize("call", DERIVATIVES.values(), ids=DERIVATIVES)
def test_every_way_to_derivatives_is_autograd(call: str) -> None:
    """With autograd forbidden, whatever torch differentiates with is recorded, also in another cell."""
    helper = f"def loss(x): return x.square().sum()\n@torch.enable_grad()\ndef derive(q): return {call}\n"
    question = BEHAVIOUR.replace(str(list(FORBIDDEN)), '["autograd"]')
    results = sit("def attend(q, k, v): return derive(q)\n", question, before=f"{HEAD}{helper}")
    assert {"forbidden.used"} == {one.code for one in results.values()}, results
    by_hand = "import torch\n@torch.no_grad()\ndef attend(q, k, v): return 2 * q.detach()\n"
    assert {"forbidden.used"}.isdisjoint(one.code for one in sit(by_hand, question).values())


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_among_the_right_styles_only_torchs_own_are_forbidden(style: str) -> None:
    """A class written from products and a softmax is never suspected."""
    results = sit(STYLES[style], IMPLEMENTATION)
    wanted = {"forbidden.used"} if style.startswith("torch's own") else {""}
    assert wanted == {one.code for one in results.values()}


@pytest.mark.parametrize(
    "answer",
    [
        "Own = MultiHeadAttention",
        "class Own(MultiHeadAttention):\n    pass",
        "class Own(nn.Module):\n    def __init__(self, d_model, n_heads):\n        super().__init__()\n"
        "        self.inner = MultiHeadAttention(d_model, n_heads)\n"
        "    def forward(self, q, k, v):\n        return self.inner(q, k, v, None)",
    ],
    ids=["renamed", "derived", "wrapped"],
)
def test_a_class_that_an_earlier_cell_gives_can_be_forbidden(answer: str) -> None:
    """It is seen whether it is renamed, derived from or wrapped."""
    question = IMPLEMENTATION.replace('answer = "MultiHeadAttention"', 'answer = "Own"')
    question = question.replace(str(list(FORBIDDEN)), str([*FORBIDDEN, "MultiHeadAttention"]))
    results = sit(f"{HEAD}{answer}\n", question, before=GIVEN)
    assert {("forbidden.used", Decimal(0))} == {(one.code, one.points) for one in results.values()}


INNOCENT = {
    "a function of one's own": "def scaled_dot_product_attention(q, k, v):\n"
    "    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    "def attend(q, k, v): return scaled_dot_product_attention(q, k, v)",
    "an attribute of one's own": "class Weighted(nn.Module):\n"
    "    def forward(self, q, k, v): return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    "class Outer(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.scaled_dot_product_attention = Weighted()\n"
    "    def forward(self, q, k, v): return self.scaled_dot_product_attention(q, k, v)\n"
    "attend = Outer()",
    "a static method of one's own": "class Maths:\n    @staticmethod\n"
    "    def scaled_dot_product_attention(q, k, v):\n"
    "        return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    "def attend(q, k, v): return Maths.scaled_dot_product_attention(q, k, v)",
    "a method of an object": "class Maths:\n"
    "    def scaled_dot_product_attention(self, q, k, v):\n"
    "        return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    "maths = Maths()\n"
    "def attend(q, k, v): return maths.scaled_dot_product_attention(q, k, v)",
    "a class and a variable of one's own": "class MultiheadAttention:\n"
    "    def __call__(self, q, k, v): return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    "def attend(q, k, v):\n    scaled_dot_product_attention = MultiheadAttention()\n"
    "    return scaled_dot_product_attention(q, k, v)",
    "a method of the base": "class Base:\n"
    "    def scaled_dot_product_attention(self, q, k, v):\n"
    "        return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    "class Own(Base):\n"
    "    def __call__(self, q, k, v): return super().scaled_dot_product_attention(q, k, v)\n"
    "attend = Own()",
    "prints to standard error": "import sys\n"
    "def attend(q, k, v):\n    print(q.shape, file=sys.stderr)\n"
    "    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v",
    "in a comment": "# like F.scaled_dot_product_attention\n" + RIGHT,
    "for a comparison of one's own": RIGHT
    + "\ndef compare(q): return attend(q, q, q) - F.scaled_dot_product_attention(q, q, q)",
    "getattr of self": "class A:\n    def __init__(self): self.f_0 = torch.softmax\n"
    "    def f(self, s, n=0): return getattr(self, f'f_{n}')(s, -1)\n"
    "def attend(q, k, v): return A().f(q @ k.mT / math.sqrt(q.shape[-1])) @ v",
}


@pytest.mark.parametrize("source", INNOCENT.values(), ids=INNOCENT)
def test_names_that_the_answer_does_not_reach_cost_nothing(source: str) -> None:
    """Own functions of the same name, comments and comparisons beside the answer are not uses."""
    results = sit(f"{HEAD}{source}\n")
    assert {Status.PASSED} == {one.status for one in results.values()}


SUSPICIOUS = {
    "never called": "    if q is None:\n        return F.scaled_dot_product_attention(q, k, v)\n",
    "exec": "    exec('')\n",
    "the recorder's own module": "    torch.overrides\n",
    "modules by name": "    import sys\n    sys.modules\n",
    "a text": "    name = 'scaled_dot_product_attention'\n",
    "a name by its text": "    import operator\n    operator.attrgetter('so' + 'ftmax')(torch)\n",
    "an object by its place": "    from pydoc import locate\n    locate('torch.' + 'softmax')\n",
    "a module by its place": "    from importlib import import_module\n    import_module('to' + 'rch')\n",
    "modules, imported": "    from sys import modules\n    modules['torch']\n",
    "getattr, handed over": "    list(map(getattr, [torch], ['soft' + 'max']))\n",
    "a trace": "    from torch.fx.experimental.proxy_tensor import make_fx\n    make_fx(torch.abs)(q)\n",
    "an operator by its name": "    torch.ops.aten.abs(q)\n",
    "an imported module": "    own = nn.functional.scaled_dot_product_attention if q is None else None\n",
}


KEPT = "import sys, torch\nmade = {}\ndef fill(): "
TRACED = {
    "by a name": "made['f'] = torch.fx.symbolic_trace(torch.nn.ReLU())\n",
    "by a text": "exec('made[0] = torch.so' + 'ftmax')\n",
    "by a module": "made['f'] = sys.modules['torch'].softmax\n",
    "by an operator": "import operator; made['f'] = operator.attrgetter('abs')(torch)\n",
}
OWN_NAMES = {
    "of a variable": "def slope(f, x, h):\n    fx = f(x)\n    return (f(x + h) - fx) / h\n",
    "of a method": "import re\nrule = re.compile('a')\nclass A:\n    def jit(self): return self.jit\n",
}


@pytest.mark.parametrize("cell", TRACED.values(), ids=TRACED)
def test_mentions_find_what_another_cell_could_keep(cell: str) -> None:
    """One run of it is enough, and what it keeps need not be seen where the answer is."""
    assert mentions("def attend(q): return made['f'](q)", "attend", FORBIDDEN, [f"{KEPT}{cell}fill()\n"])


@pytest.mark.parametrize("cell", OWN_NAMES.values(), ids=OWN_NAMES)
def test_mentions_pass_own_names_in_other_cells(cell: str) -> None:
    assert () == mentions("def attend(q): return q", "attend", FORBIDDEN, [cell])


@pytest.mark.parametrize("line", SUSPICIOUS.values(), ids=SUSPICIOUS)
def test_what_only_stands_in_the_source_goes_to_a_person(line: str) -> None:
    """A right answer that mentions it is neither full marks nor a zero, and staff reads the line."""
    results = sit(RIGHT.replace("v):\n", f"v):\n{line}"))
    assert {Status.NEEDS_REVIEW} == {one.status for one in results.values()}
    assert "(line 6)" in results["value"].staff or "(line 7)" in results["value"].staff


def test_an_answer_that_refuses_to_be_recorded_goes_to_a_person() -> None:
    """Code that works except under the recorder is not taken at its word."""
    before = (
        "from torch.overrides import _get_current_function_mode_stack as modes\n"
        "def watched(): return len(modes())"
    )
    results = sit(RIGHT.replace("v):\n", "v):\n    1 / (1 - min(1, watched()))\n"), before=before)
    assert {("forbidden.look", Status.NEEDS_REVIEW)} == {(one.code, one.status) for one in results.values()}


FAST = "F.scaled_dot_product_attention(q, k, v)"
HELPERS = {
    "looks at the stack of modes": "from torch.overrides import _get_current_function_mode_stack as modes\n"
    f"def product(q, k, v): return q if modes() else {FAST}",
    "looks at the length of the stack": "length = torch._C._len_torch_function_stack\n"
    f"def product(q, k, v): return q if length() else {FAST}",
    "replaces the mode": "import torch.overrides\n"
    "class Mode:\n    def __enter__(self): return self\n    def __exit__(self, *_): pass\n"
    f"torch.overrides.TorchFunctionMode = Mode\ndef product(q, k, v): return {FAST}",
    "replaces what enters a mode": "import torch.overrides\n"
    "torch.overrides._push_mode = torch.overrides._pop_mode = lambda *_: None\n"
    f"def product(q, k, v): return {FAST}",
    "takes the modes away": "pop = torch._C._pop_torch_function_stack\n"
    "push = torch._C._push_on_torch_function_stack\n"
    "length = torch._C._len_torch_function_stack\n"
    f"def product(q, k, v):\n    taken = [pop() for _ in range(length())]\n    try: return {FAST}\n"
    "    finally: [push(one) for one in taken[::-1]]",
    "switches modes off": "off = torch._C.DisableTorchFunction\n"
    f"def product(q, k, v):\n    with off(): return {FAST}",
    "another thread": "from concurrent.futures import ThreadPoolExecutor\n"
    "def product(q, k, v):\n    with ThreadPoolExecutor(1) as pool:\n"
    f"        return pool.submit(lambda: {FAST}).result()",
    "falls back to something wrong": f"def product(q, k, v):\n    try: return {FAST}\n"
    "    except BaseException: return q",
    "in a thread, falls back": "from concurrent.futures import ThreadPoolExecutor\n"
    "def product(q, k, v):\n    with ThreadPoolExecutor(1) as pool:\n"
    f"        try: return pool.submit(lambda: {FAST}).result()\n        except BaseException: return q",
    "patches what texts are made of": "import builtins\nold = str\n"
    "class Text(str):\n    def __new__(cls, one=''): return old('softmax')\n"
    f"def product(q, k, v):\n    builtins.str = Text\n    try: return {FAST}\n"
    "    finally: builtins.str = old",
    "a partial function": "import functools\nproduct = functools.partial(F.scaled_dot_product_attention)",
    "getattr of a text that is built": "words = 'scaled', 'dot', 'product', 'attention'\n"
    "product = getattr(F, '_'.join(words))",
    "torch.ops": "product = torch.ops.aten.scaled_dot_product_attention.default",
    "a packet by its name": "product = getattr(torch.ops.aten, 'scaled_dot_product_' + 'attention')",
    "what lies behind it": "def product(q, k, v):\n"
    "    one = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu\n"
    "    return one(q[:, None], k[:, None], v[:, None])[0][:, 0]",
    "below torch._C": "product = torch._C._nn.scaled_dot_product_attention",
    "importlib": "import importlib\n"
    "module = importlib.import_module('torch.nn.' + 'functional')\n"
    "product = vars(module)['scaled_dot_' + 'product_attention']",
    "a text that is executed": "space = {'F': F}\n"
    "exec('def product(q, k, v): return F.scaled_dot_' + 'product_attention(q, k, v)', space)\n"
    "product = space['product']",
    "compiled": f"@torch.compile\ndef product(q, k, v): return {FAST}",
    "vmap": "product = torch.vmap(F.scaled_dot_product_attention)",
    "a decorator's default": "def product(q, k, v, f=F.scaled_dot_product_attention): return f(q, k, v)",
    "a method of a class": "class Product:\n    kept = staticmethod(F.scaled_dot_product_attention)\n"
    "    def __call__(self, *x): return self.kept(*x)\nproduct = Product()",
}
UNSEEN = f"{HEAD}def attend(q, k, v): return product(q, k, v)\n"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("read", [False, True], ids=["not read", "read"])
@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_no_helper_cell_hides_what_it_calls(helper: str, read: bool) -> None:
    """Whether the cell is read or not: what is forbidden fails where it is looked at, whoever calls it."""
    results = sit(UNSEEN, before=f"{HEAD}{helper}\n", read=read)
    assert {Decimal(0)} == {one.points for one in results.values()}
    assert {one.code for one in results.values()} <= {"forbidden.used", "forbidden.look"}


LAYERS = {
    "torch's own, derived": "class Helper(nn.MultiheadAttention):\n    pass\n",
    "torch's own, its weights asked for": "Helper = nn.MultiheadAttention\nweighted = True\n",
    "torch's own, by a name that is built": "Helper = getattr(nn, 'Multi' + 'headAttention')\n",
    "torch's function": "class Helper(nn.Module):\n"
    "    def __init__(self, d_model, n_heads, batch_first):\n        super().__init__()\n"
    "        self.inner = nn.MultiheadAttention(d_model, n_heads, batch_first=True)\n"
    "    def forward(self, q, k, v):\n        one = self.inner\n"
    "        f = F.multi_head_attention_forward\n"
    "        came, _ = f(*(x.transpose(0, 1) for x in (q, k, v)), one.embed_dim,\n"
    "            one.num_heads, one.in_proj_weight, one.in_proj_bias, None, None, False, 0.0,\n"
    "            one.out_proj.weight, one.out_proj.bias)\n        return came.transpose(0, 1), None\n",
}


@pytest.mark.parametrize("read", [False, True], ids=["not read", "read"])
@pytest.mark.parametrize("helper", LAYERS.values(), ids=LAYERS)
def test_no_helper_cell_hides_a_layer(helper: str, read: bool) -> None:
    """A class that wraps torch's own, whose cell looks whether anybody looks."""
    modes = "from torch.overrides import _get_current_function_mode_stack as modes\n"
    source = (
        f"{HEAD}class MultiHeadAttention(nn.Module):\n    def __init__(self, d_model, n_heads):\n"
        "        super().__init__()\n        self.inner = Helper(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value):\n"
        "        return query if watched() else self.inner(query, key, value)[0]\n"
    )
    before = f"{HEAD}{modes}{helper}\ndef watched(): return len(modes())\n"
    results = sit(source, IMPLEMENTATION, before=before, read=read)
    assert {"forbidden.look"} == {one.code for one in results.values()}
    results = sit(source, IMPLEMENTATION, before=before.replace("len(modes())", "False"), read=read)
    assert {"forbidden.used"} == {one.code for one in results.values()}


ELSEWHERE = {
    "a comparison in another cell": "from torch.nn.functional import scaled_dot_product_attention\n"
    "def compare(q): return attend(q, q, q) - scaled_dot_product_attention(q, q, q)\n",
    "torch's own, used beside it": "layer = nn.MultiheadAttention(8, 2)\nq = torch.randn(2, 8)\n"
    "layer(q, q, q)\n",
    "a function of one's own": "def scaled_dot_product_attention(q, k, v):\n    return right(q, k, v)\n"
    "def product(q, k, v): return scaled_dot_product_attention(q, k, v)\n",
    "a name in a text": "title = 'MultiheadAttention and scaled_dot_product_attention in torch'\n",
    "system things elsewhere": "import sys, gc, inspect\nprint(sys.path, gc.collect())\n",
}


@pytest.mark.parametrize("cell", ELSEWHERE.values(), ids=ELSEWHERE)
def test_other_cells_cost_nothing_where_the_answer_does_without_them(cell: str) -> None:
    """What stands beside the answer, or only has such a name, is no use of anything."""
    own = f"{HEAD}def right(q, k, v):\n    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    source = UNSEEN if "def product" in cell else RIGHT
    results = sit(source, before=f"{own}{cell}")
    assert {Status.PASSED} == {one.status for one in results.values()}, results


def test_a_wrong_answer_stays_wrong_when_it_is_suspicious() -> None:
    """A person is only asked about items that would have passed."""
    source = RIGHT.replace("/ math.sqrt(q.shape[-1])", "").replace("v):\n", "v):\n    exec('')\n")
    results = sit(source)
    assert {"value": Status.FAILED, "batch": Status.NEEDS_REVIEW} == {
        name: one.status for name, one in results.items()
    }


@pytest.mark.parametrize("source", ["def attend(", "\x00", "(" * 5000, "attend = 1", ""])
def test_any_source_is_read(source: str) -> None:
    """What is not Python, or not a definition, has no mentions."""
    assert () == mentions(source, "attend", FORBIDDEN)


def test_recorded_call_says_which_call_it_repeats() -> None:
    """So that a call that never ends is not made once more to look for forbidden names."""
    scenario = Scenario("q: case", (Call("attend"), Call("attend"), Call("further")), serves="value")
    recorded = recording(scenario, scenario.calls[:2], FORBIDDEN)
    assert (recorded.repeats, recorded.serves) == (("q: case", 2), "value")
