"""What torch imports late is imported before boxes are forked where an assignment uses it, else not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.preloading import COMPARING, LATE, SYMBOLIC, preloaded, preloaded_for
from autograder.records import Limits
from autograder.sandbox.base import Environment
from autograder.sandbox.pool import Pool

LATE_USES = (
    "import torch.optim as o; o.SGD([torch.ones(2, requires_grad=True)], 0.1).step()",
    "from torch.optim import Adam; Adam([torch.ones(2, requires_grad=True)]).zero_grad()",
    "from torch import optim; optim.AdamW([torch.ones(2, requires_grad=True)]).step()",
    "from torch.utils import checkpoint as c; c.checkpoint(F.relu, torch.ones(2), use_reentrant=False)",
    "torch.func.grad(lambda x: (x * x).sum())(torch.ones(2))",
    "from torch.func import jacrev; jacrev(lambda x: x * x)(torch.ones(2))",
    "from torch import func; func.hessian(lambda x: (x * x).sum())(torch.ones(2))",
    "torch.compile(lambda x: x + 1)(torch.ones(2))",
    "model = nn.Linear(2, 2); model.compile(); model(torch.ones(2))",
    "from torch import compile as c; c(lambda x: x + 1)(torch.ones(2))",
    "nn.Linear(2, 2, device='meta')(torch.ones(2, device='meta'))",
    'nn.Linear(2, 2).to("meta")(torch.ones(2, device="meta"))',
    "torch.use_deterministic_algorithms(True)",
    "with torch.profiler.profile(): torch.ones(1)",
    "import torch.autograd.forward_ad as f; x = torch.ones(1)\nwith f.dual_level(): f.make_dual(x, x) * 2",
)
SYMBOLIC_USES = (
    "x = torch.ones(2, requires_grad=True); (x * 2).backward(torch.ones(2))",
    "x = torch.ones(2, requires_grad=True); (x * 2).backward(gradient=torch.ones(2), retain_graph=True)",
    "x = torch.ones(2, requires_grad=True); torch.autograd.grad(x * 2, x, grad_outputs=torch.ones(2))",
    "from torch.autograd import grad; x = torch.ones(2, requires_grad=True); grad(x * 2, x, torch.ones(2))",
    "from torch import autograd; x = torch.ones(1, requires_grad=True); autograd.backward(x, torch.ones(1))",
    "torch.autograd.functional.vjp(lambda x: x * 2, torch.ones(2), torch.ones(2))",
    "torch.autograd.functional.hvp(lambda x: (x * x).sum(), torch.ones(2), torch.ones(2))",
    "from torch.autograd.functional import vjp; vjp(lambda x: x * 2, torch.ones(2), torch.ones(2))",
    "p, i = nn.MaxPool1d(2, return_indices=True)(torch.ones(1, 1, 4)); nn.MaxUnpool1d(2)(p, i)",
    "torch.broadcast_shapes((2, 1), (1, 2))",
    "torch.autograd.functional.jacobian(lambda x: x * x, torch.ones(2), vectorize = True)",
    "torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).sample()",
    "from torch.distributions import *; Wishart(torch.tensor(2.0), torch.eye(2))",
    "import torch.distributions as d; d.Gumbel(0.0, 1.0).sample()",
    "import torch.distributions as d; d.Pareto(1.0, 1.0), d.Weibull(1.0, 1.0), d.InverseGamma(1.0, 1.0)",
    "x = torch.ones(1, dtype=torch.double, requires_grad=True); torch.autograd.gradcheck(torch.sin, x)",
    "x = torch.ones(2, 1, 4); nn.MultiheadAttention(4, 2)(x, x, x, key_padding_mask=torch.zeros(1, 2) > 0)",
    "x = torch.ones(2, 1, 4); layer = nn.TransformerEncoderLayer(4, 2, 4); mask = torch.zeros(1, 2) > 0; "
    "nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)(x, src_key_padding_mask=mask)",
)
COMPARING_USES = (
    "torch.testing.assert_close(torch.ones(2), torch.ones(2))",
    "from torch.testing import assert_close as same; same([1.0], [1.0])",
    "torch.testing.assert_allclose(torch.ones(2), torch.ones(2))",
    "torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2))",
    "from torch.jit import trace; trace(nn.Linear(2, 2), torch.ones(1, 2))",
)
OTHER_USES = (
    "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2)(torch.ones(1, 3, 8)).sum().backward()",
    "nn.MultiheadAttention(8, 2).eval()(torch.ones(3, 1, 8), torch.ones(3, 1, 8), torch.ones(3, 1, 8))",
    "F.scaled_dot_product_attention(*[torch.ones(1, 1, 2, 2)] * 3, is_causal=True)",
    "nn.LSTM(2, 2)(torch.ones(1, 1, 2)); nn.GRU(2, 2)(torch.ones(1, 1, 2))",
    "torch.vmap(lambda x: x * 2)(torch.ones(2))",
    "torch.autograd.functional.jacobian(lambda x: x * x, torch.ones(2))",
    "torch.distributions.Categorical(torch.ones(3)).sample(); torch.multinomial(torch.ones(3), 1)",
    "torch.distributions.Normal(0.0, 1.0).rsample(); F.gumbel_softmax(torch.ones(2))  # vectorized",
    "nn.init.orthogonal_(torch.empty(2, 2)); nn.utils.clip_grad_norm_([nn.Parameter(torch.ones(2))], 1.0)",
    "from torch.utils.data import DataLoader; list(DataLoader(torch.ones(4, 2), 2, shuffle=True))",
    "torch.manual_seed(0); torch.linalg.svd(torch.ones(2, 2)); torch.einsum('ij,jk', *[torch.eye(2)] * 2)",
    "x = torch.ones(2, requires_grad=True); x.sum().backward(); (x * 2).sum().backward( retain_graph=True)",
    "from torch.autograd import Variable; Variable(torch.ones(2), requires_grad=True).sum().backward()",
    "torch.broadcast_tensors(torch.ones(2, 1), torch.ones(2)); torch.ones(2, 1).expand(2, 2)",
    "torch.set_num_threads(1)  # optimal, metadata",
    "from numpy.testing import assert_allclose; assert_allclose([1.0], [1.0])",
    "import re; re.compile('x'); compile('1', 'x', 'eval')",
)
ASK = f"""
LATE = {(LATE, SYMBOLIC, COMPARING)}
import os, sys, torch
from torch import nn
import torch.nn.functional as F

class Met:
    def find_spec(self, name, *_):
        if name in LATE:
            os._exit(1 + LATE.index(name))

sys.meta_path.insert(0, Met())
for code in sys.stdin.read().split(chr(0)):
    child = os.fork()
    if not child:
        exec(code)
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
def test_the_words_are_those_that_import_it() -> None:
    """Each program that imports it has a word that tells so; the others have none."""
    environment = {**os.environ, "TORCHDYNAMO_DISABLE": "1", "PYTHONWARNINGS": "ignore"}
    programs = (*LATE_USES, *SYMBOLIC_USES, *COMPARING_USES, *OTHER_USES)
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input="\0".join(programs),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    first = dict(zip(programs, (int(line) for line in done.stdout.split() if line in "0123"), strict=True))
    assert dict.fromkeys(OTHER_USES, 0) == {one: first[one] for one in OTHER_USES}
    assert dict.fromkeys(SYMBOLIC_USES, 2) == {one: first[one] for one in SYMBOLIC_USES}
    assert dict.fromkeys(COMPARING_USES, 3) == {one: first[one] for one in COMPARING_USES}
    assert 0 not in {first[one] for one in LATE_USES}


@pytest.mark.parametrize(
    ("program", "late"),
    [
        *((one, LATE) for one in LATE_USES),
        *((one, SYMBOLIC) for one in SYMBOLIC_USES),
        *((one, COMPARING) for one in COMPARING_USES),
    ],
)
def test_what_uses_it_is_seen(tmp_path: Path, program: str, late: str) -> None:
    """In a module, in a notebook's JSON, in a rubric, wherever it lies."""
    (tmp_path / "source" / "helpers").mkdir(parents=True)
    (tmp_path / "source" / "helpers" / "train.py").write_text(program, encoding="utf-8")
    (tmp_path / "rubric.toml").write_text(f"'''{program}'''", encoding="utf-8")
    (tmp_path / "one.ipynb").write_text(program.replace('"', r"\""), encoding="utf-8")
    for place in ("source", "rubric.toml", "one.ipynb"):
        assert ("torch", late) == preloaded(("torch",), [tmp_path / "none", tmp_path / place]), place
    assert ("torch", LATE) == preloaded_for(("torch",), ["x = 1", program])
    assert ("torch", late) == preloaded_for(("torch", late), [program])


def test_others_do_not_wait_for_it(tmp_path: Path) -> None:
    """Nor does an assignment without torch, whatever it says; a library that is not known may need it."""
    (tmp_path / "a.py").write_text("\n".join(OTHER_USES), encoding="utf-8")
    (tmp_path / "data.csv").write_text("optim", encoding="utf-8")
    assert ("torch", "pandas") == preloaded(("torch", "pandas"), [tmp_path])
    assert ("torch",) == preloaded_for(("torch",), OTHER_USES)
    assert ("numpy",) == preloaded_for(("numpy",), LATE_USES)
    assert ("transformers", "torch", LATE) == preloaded(("transformers", "torch"), [tmp_path])
    assert ("networkx", LATE) == preloaded(("networkx",), [tmp_path])
    (tmp_path / "b.py").write_text(LATE_USES[0], encoding="utf-8")
    assert ("numpy",) == preloaded(("numpy",), [tmp_path])
    assert ("torch", LATE) == preloaded(("torch", LATE), [tmp_path])


@pytest.mark.sandbox
def test_a_library_without_torch_does_not_bring_it() -> None:
    """What might be needed with a library that is not known is imported only where torch is."""
    with Pool() as pool:
        box = pool.sandbox(Environment(preload=("numpy", LATE))).open(Limits())
        run = box.run_cell("import sys\nassert 'torch' not in sys.modules", seconds=5)
        box.close()
    assert "" == run.error
