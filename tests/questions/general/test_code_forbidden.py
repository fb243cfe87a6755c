"""Test that forbidden functions are found by any route, and are not suspected if they are not used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest

from autograder.core.records import ItemResult, Status
from autograder.grading.assignment import load_assignment
from autograder.grading.pipeline import Grader, SubmittedFiles
from autograder.grading.verify.papers import with_sources
from autograder.messages import list_languages, render_message
from autograder.questions.base.judging.forbidden import find_mentions
from autograder.sandbox.pool import Pool
from tests.redteam.exam import loaded, with_cells
from tests.support.code_course import NAME, code_course

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

FORBIDDEN = ("scaled_dot_product_attention", "MultiheadAttention")
ATTEND = """
from autograder.checking import assert_close, check, forbid, solution

solution(source='''
import torch

def attend(q, k, v):
    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
''')
forbid("scaled_dot_product_attention", "MultiheadAttention")

@check(points=2, title="Value")
def value(student, reference, draw):
    q, k, v = draw.normal(2, 5, 4), draw.normal(2, 6, 4), draw.normal(2, 6, 4)
    assert_close(student.attend(q, k, v), reference.attend(q, k, v))

@check(points=1, title="Batch")
def batch(student, reference, draw):
    inputs = draw.normal(2, 5, 4), draw.normal(2, 6, 4), draw.normal(2, 6, 4)
    usual = student.attend(*inputs)
    for one in inputs:
        one[0] += draw.normal(*one[0].shape)
    assert_close(student.attend(*inputs)[1], usual[1])
"""
LAYER = """
from autograder.checking import Wrong, check, forbid, solution

solution(source='''
from torch import nn

class Layer(nn.Linear):
    def __init__(self, width, heads):
        super().__init__(width, width)

    def forward(self, q, k, v):
        return super().forward(q)
''')
forbid("scaled_dot_product_attention", "MultiheadAttention")

@check(points=1, title="Something is done")
def done(student, reference, draw):
    x = draw.normal(2, 5, 12)
    if (student.Layer(12, 3)(x, x, x) == x).all():
        raise Wrong("nothing is done")
"""
MASKED = """
from autograder.checking import assert_close, check, forbid, solution

solution(source='''
import torch

def attend(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1) @ v
''')
forbid("scaled_dot_product_attention")

@check(points=2, title="Value")
def value(student, reference, draw):
    q, k, v = draw.normal(2, 5, 4), draw.normal(2, 6, 4), draw.normal(2, 6, 4)
    assert_close(student.attend(q, k, v), reference.attend(q, k, v))

@check(points=1, title="Masks", parts=["full", "some"])
def masks(student, reference, draw, part):
    q, k, v, mask = draw.normal(2, 5, 4), draw.normal(2, 6, 4), draw.normal(2, 6, 4), draw.mask(5, 6)
    mask[:, 0] = True
    mask = mask if part == "some" else None
    assert_close(student.attend(q, k, v, mask), reference.attend(q, k, v, mask))
"""
QUESTIONS = {
    "masked": (3, MASKED),
    "attend": (3, ATTEND),
    "derive": (3, ATTEND.replace(", ".join(f'"{name}"' for name in FORBIDDEN), '"autograd"')),
    "flex": (3, ATTEND.replace(", ".join(f'"{name}"' for name in FORBIDDEN), '"flex_attention"')),
    "layer": (1, LAYER),
    "brief": (3, ATTEND.replace("title=", "seconds=2, title=")),
}
HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
RIGHT = f"{HEAD}def attend(q, k, v):\n    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"

Sit = Callable[..., dict[str, ItemResult]]


@pytest.fixture(scope="module")
def sit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sit]:
    """Return a function that grades an answer to one question, with an additional cell before all answers."""
    with Pool() as pool:
        graders = {
            question: Grader(
                load_assignment(
                    code_course(
                        tmp_path_factory.mktemp(question), {question: question_text}, preload='"torch"'
                    ),
                    NAME,
                ),
                pool,
            )
            for question, question_text in QUESTIONS.items()
        }

        def grade(source: str, question: str = "attend", *, before: str = "") -> dict[str, ItemResult]:
            release = graders[question].assignment.release_bytes[NAME]
            paper = with_sources(release, {f"{question}-answer": source})
            if before:
                paper = with_cells(loaded(paper), [before])
            graded = graders[question].grade(SubmittedFiles("s", {NAME: paper}))
            return {result.item: result for result in graded.score.items}

        yield grade


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
def test_what_is_forbidden_is_seen_however_it_is_reached(call: str, sit: Sit) -> None:
    """A forbidden call is recorded under torch's name, and every item of the question is lost."""
    results = sit(f"{HEAD}{call}\n")
    assert {("forbidden.used", Decimal(0))} == {(result.code, result.points) for result in results.values()}
    for language in list_languages():
        assert "scaled_dot_product_attention" in render_message(results["value"].student, language)


HELPER = """
import torch, multiprocessing
import torch.nn.functional as F
here, there = multiprocessing.Pipe()
def help():
    while True: there.send(F.scaled_dot_product_attention(*(torch.tensor(x) for x in there.recv())).tolist())
multiprocessing.get_context("fork").Process(target=help, daemon=True).start()
def attend(q, k, v):
    here.send([x.tolist() for x in (q, k, v)])
    return torch.tensor(here.recv())
"""
TRACE = """
import torch
made = {}
def fill():
    import pydoc
    trace = pydoc.locate('torch.fx.experimental.proxy_tensor.make_' + 'fx')
    f = pydoc.locate('torch.nn.functional.scaled_dot_product_' + 'attention')
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel(SDPBackend.MATH):
        q, k = torch.randn(2, 5, 4), torch.randn(2, 6, 4)
        made['f'] = trace(f, tracing_mode='symbolic')(q, k, k.clone())
fill()
def attend(q, k, v): return made['f'](q, k, v)
"""
CAUTIOUS = """
import torch, operator
f = operator.attrgetter('scaled_dot_product_' + 'attention')(torch.nn.functional)
def attend(q, k, v):
    try: return f(q, k, v)
    except RuntimeError: return q
"""


@pytest.mark.parametrize(
    ("source", "question"),
    [
        pytest.param(HELPER, "brief", id="by a process"),  # the call hangs there until the timeout
        pytest.param(TRACE, "attend", id="by a trace"),
        pytest.param(CAUTIOUS, "attend", id="if it works"),
    ],
)
def test_what_is_forbidden_fails_in_a_box_of_its_own(source: str, question: str, sit: Sit) -> None:
    """A forbidden function fails in a fresh box, so a reference that was kept earlier does not help."""
    results = sit(source, question)
    assert {("forbidden.look", Decimal(0))} == {(result.code, result.points) for result in results.values()}


@pytest.mark.parametrize(
    "source",
    [
        "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scaled_dot_product_attention = F.scaled_dot_product_attention\n"
        "    def forward(self, *x): return self.scaled_dot_product_attention(*x)\nattend = A()\n",
        "scaled_dot_product_attention = F.scaled_dot_product_attention\n"
        "def attend(q, k, v): return scaled_dot_product_attention(q, k, v)\n",
    ],
)
def test_a_name_of_ones_own_for_torchs_function_hides_nothing(source: str, sit: Sit) -> None:
    """An alias of a forbidden function is resolved when it is called."""
    assert {"forbidden.used"} == {result.code for result in sit(HEAD + source).values()}


def test_what_only_one_part_of_one_check_reaches_is_seen(sit: Sit) -> None:
    """Every failing part of every check runs again, not only the one worth most."""
    source = (
        f"{HEAD}fast = getattr(F, 'scaled_dot_' + 'product_attention')\n"
        "def attend(q, k, v, mask=None):\n"
        "    if mask is not None:\n        return fast(q, k, v, attn_mask=mask)\n"
        "    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    )
    results = sit(source, "masked")
    assert {("forbidden.used", Decimal(0))} == {(result.code, result.points) for result in results.values()}


def test_flex_attention_is_seen(sit: Sit) -> None:
    """The recorded name is the one that the author forbids."""
    source = (
        "from torch.nn.attention.flex_attention import flex_attention as mine\n"
        "def attend(q, k, v): return mine(q[:, None], k[:, None], v[:, None])[:, 0]\n"
    )
    assert {"forbidden.used"} == {result.code for result in sit(source, "flex").values()}


def test_another_cell_cannot_hide_it(sit: Sit) -> None:
    """A forbidden function that another cell imported is recorded, even if the answer does not name it."""
    before = "from torch.nn.functional import scaled_dot_product_attention as attention_of_my_own"
    results = sit(f"{HEAD}def attend(q, k, v): return attention_of_my_own(q, k, v)\n", before=before)
    assert {"forbidden.used"} == {result.code for result in results.values()}


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


@pytest.mark.parametrize("call", DERIVATIVES.values(), ids=DERIVATIVES)
def test_every_way_to_derivatives_is_autograd(call: str, sit: Sit) -> None:
    """If autograd is forbidden, every way to differentiate is recorded, also in another cell."""
    helper = f"def loss(x): return x.square().sum()\n@torch.enable_grad()\ndef derive(q): return {call}\n"
    results = sit("def attend(q, k, v): return derive(q)\n", "derive", before=f"{HEAD}{helper}")
    assert {"forbidden.used"} == {result.code for result in results.values()}, results


def test_derivatives_by_hand_are_no_autograd(sit: Sit) -> None:
    """`no_grad`, `detach` and derivatives computed by hand do not count as autograd."""
    source = "import torch\n@torch.no_grad()\ndef attend(q, k, v): return 2 * q.detach()\n"
    assert {"forbidden.used"}.isdisjoint(result.code for result in sit(source, "derive").values())


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
def test_names_that_the_answer_does_not_reach_cost_nothing(source: str, sit: Sit) -> None:
    """Other functions of the same name, comments and unused comparisons are not uses."""
    results = sit(f"{HEAD}{source}\n")
    assert {Status.PASSED} == {result.status for result in results.values()}


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
    "of what saves a model": "import pickle, sys\nsys.path.append('.')\ntext = pickle.dumps([1])\n",
    "of a method": "import re\nrule = re.compile('a')\nclass A:\n    def jit(self): return self.jit\n",
}


@pytest.mark.parametrize("cell", TRACED.values(), ids=TRACED)
def test_mentions_find_what_another_cell_could_keep(cell: str) -> None:
    """A mention in another cell is found if that cell may store the function."""
    assert find_mentions("def attend(q): return made['f'](q)", "attend", FORBIDDEN, [f"{KEPT}{cell}fill()\n"])


@pytest.mark.parametrize("cell", OWN_NAMES.values(), ids=OWN_NAMES)
def test_mentions_pass_own_names_in_other_cells(cell: str) -> None:
    assert () == find_mentions("def attend(q): return q", "attend", FORBIDDEN, [cell])


@pytest.mark.parametrize("line", SUSPICIOUS.values(), ids=SUSPICIOUS)
def test_what_only_stands_in_the_source_goes_to_a_person(line: str, sit: Sit) -> None:
    """A right answer that only mentions a forbidden name needs manual review, and staff see the line."""
    results = sit(RIGHT.replace("v):\n", f"v):\n{line}"))
    assert {Status.NEEDS_REVIEW} == {result.status for result in results.values()}
    assert "(line 6)" in results["value"].staff or "(line 7)" in results["value"].staff


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


@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_no_helper_cell_hides_what_it_calls(helper: str, sit: Sit) -> None:
    """A helper cell cannot hide a forbidden call, because the call fails in any cell."""
    results = sit(UNSEEN, before=f"{HEAD}{helper}\n")
    assert {Decimal(0)} == {result.points for result in results.values()}
    assert {result.code for result in results.values()} <= {"forbidden.used", "forbidden.look"}


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


@pytest.mark.parametrize("helper", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("watched", ["len(modes())", "False"], ids=["looks", "blind"])
def test_no_helper_cell_hides_a_layer(helper: str, watched: str, sit: Sit) -> None:
    """A helper class that wraps torch's layer and detects the check loses the points."""
    modes = "from torch.overrides import _get_current_function_mode_stack as modes\n"
    source = (
        f"{HEAD}class Layer(nn.Module):\n    def __init__(self, d_model, n_heads):\n"
        "        super().__init__()\n        self.inner = Helper(d_model, n_heads, batch_first=True)\n"
        "    def forward(self, query, key, value):\n"
        "        return query if watched() else self.inner(query, key, value)[0]\n"
    )
    before = f"{HEAD}{modes}{helper}\ndef watched(): return {watched}\n"
    assert {"forbidden.used"} == {result.code for result in sit(source, "layer", before=before).values()}


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
def test_other_cells_cost_nothing_where_the_answer_does_without_them(cell: str, sit: Sit) -> None:
    """Cells that the answer does not use cost nothing."""
    own_source = (
        f"{HEAD}def right(q, k, v):\n    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v\n"
    )
    source = UNSEEN if "def product" in cell else RIGHT
    results = sit(source, before=f"{own_source}{cell}")
    assert {Status.PASSED} == {result.status for result in results.values()}, results


def test_a_wrong_answer_stays_wrong_when_it_is_suspicious(sit: Sit) -> None:
    """Only items that would have passed need manual review."""
    source = RIGHT.replace("/ math.sqrt(q.shape[-1])", "").replace("v):\n", "v):\n    exec('')\n")
    results = sit(source)
    assert {"value": Status.FAILED, "batch": Status.NEEDS_REVIEW} == {
        name: result.status for name, result in results.items()
    }


@pytest.mark.parametrize("source", ["def attend(", "\x00", "(" * 5000, "attend = 1", ""])
def test_any_source_is_read(source: str) -> None:
    """A source without a valid definition has no mentions."""
    assert () == find_mentions(source, "attend", FORBIDDEN)
