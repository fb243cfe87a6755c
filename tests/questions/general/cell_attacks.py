# ruff: noqa: E501 - attacks are read line by line
"""Answers that attack the test cells instead of solving the task: name → source."""

from __future__ import annotations

from collections.abc import Mapping

TESTS: Mapping[str, str] = {
    "list": "assert squares(3) == [1, 4, 9]\nassert squares(1) == [1]",
    "array": "assert np.allclose(scaled(np.array([1.0, 2.0])), [3.0, 6.0])",
    "object": "stack = Stack()\nstack.push(5)\nassert stack.pop() == 5",
    "number": "assert total == 55",
    "type": "assert isinstance(squares(2), list) and len(squares(2)) == 2 and squares(2)[1] == 4",
}
"""The tests that the attacks face; none of them passes for an honest wrong answer."""

_ALL = """
def squares(n): return {0}
def scaled(x): return {0}
class Stack:
    def push(self, x): pass
    def pop(self): return {0}
total = {0}
"""


def _object(body: str, base: str = "", made: str = "Odd()") -> str:
    return f"class Odd({base}):\n    {body}\n" + _ALL.format(made)


def _before(code: str, value: str = "[0]") -> str:
    return code + "\n" + _ALL.format(value)


_TRUE = "lambda *a, **k: True"
ATTACKS: Mapping[str, str] = {
    "methods that are a library's class which equals everything": (
        "from unittest.mock import ANY\nclass Stack:\n    def push(self, x): pass\n    pop = type(ANY)\n"
    ),
    "always equal": _object("__eq__ = lambda s, o: True"),
    "always equal, never unequal": _object("__eq__ = lambda s, o: True; __ne__ = lambda s, o: False"),
    "int that equals all": _object("__eq__ = lambda s, o: True; __hash__ = int.__hash__", "int", "Odd(0)"),
    "str that equals all": _object("__eq__ = lambda s, o: True; __hash__ = str.__hash__", "str", "Odd('a')"),
    "float that equals all": _object("__eq__ = lambda s, o: True; __hash__ = float.__hash__", "float", "Odd(0.5)"),
    "list that equals all": _object("__eq__ = lambda s, o: True; __len__ = lambda s: 2", "list", "Odd([0])"),
    "tuple that equals all": _object("__eq__ = lambda s, o: True", "tuple", "Odd((0,))"),
    "dict that equals all": _object("__eq__ = lambda s, o: True", "dict", "Odd(a=1)"),
    "set that equals all": _object("__eq__ = lambda s, o: True", "set", "Odd([1])"),
    "list whose items equal all": _object("__eq__ = lambda s, o: True", "", "[Odd()] * 3"),
    "array of objects that equal all": _object("__eq__ = lambda s, o: True", "", "np.array([Odd(), Odd()], object)"),
    "array subclass": _object("__eq__ = lambda s, o: True", "np.ndarray", "np.zeros(2).view(Odd)"),
    "array subclass with functions": _object(
        f"__array_function__ = {_TRUE}", "np.ndarray", "np.zeros(2).view(Odd)"
    ),
    "array functions": _object(f"__array_function__ = {_TRUE}; __array_ufunc__ = {_TRUE}; __eq__ = {_TRUE}"),
    "array conversion": _object("__array__ = lambda s, *a, **k: np.array([0.0, 0.0]); __eq__ = lambda s, o: True"),
    "reflected operators": _object(f"__rsub__ = __sub__ = __abs__ = __le__ = __lt__ = __bool__ = __eq__ = {_TRUE}"),
    "all attributes true": _object(f"__getattr__ = {_TRUE}; __eq__ = {_TRUE}; __bool__ = {_TRUE}"),
    "mock": _before("from unittest.mock import ANY, MagicMock", "ANY"),
    "claims another class": _object(
        "__class__ = property(lambda s: list); __eq__ = lambda s, o: True; __len__ = lambda s: 2;"
        " __getitem__ = lambda s, i: s"
    ),
    "metaclass": "class M(type):\n    __instancecheck__ = __eq__ = lambda *a: True\n    __hash__ = type.__hash__\n"
    + _ALL.format("M('T', (), {})"),
    "np.allclose replaced": _before(f"np.allclose = {_TRUE}"),
    "np replaced": _before(f"class np:\n    allclose = staticmethod({_TRUE})\n    array = staticmethod(lambda x: x)"),
    "np in sys.modules": _before(
        f"import sys, types\nfake = types.ModuleType('numpy')\nfake.allclose = {_TRUE}\nfake.array = list\n"
        "sys.modules['numpy'] = np = fake"
    ),
    "builtins isinstance": _before(f"import builtins\nbuiltins.isinstance = {_TRUE}\nisinstance = {_TRUE}"),
    "builtins len": _before("import builtins\nlen = builtins.len = lambda x: 2"),
    "builtins all": _before(f"import builtins\nbuiltins.all = builtins.any = builtins.abs = {_TRUE}"),
    "AssertionError that is none": _before("import builtins\nbuiltins.AssertionError = SystemExit"),
    "exec replaced": _before("import builtins\nbuiltins.exec = builtins.eval = lambda *a, **k: None"),
    "compile replaced": _before(
        "import builtins\nkept = compile\nbuiltins.compile = lambda s, *a, **k: kept('pass', '<x>', 'exec')"
    ),
    "ast transformer": _before(
        "import ast\nclass Off(ast.NodeTransformer):\n    def visit_Assert(self, node): return ast.Pass()\n"
        "get_ipython().ast_transformers.append(Off())"
    ),
    "input transformer": _before(
        "get_ipython().input_transformers_post.append(lambda lines: ['pass\\n'])\n"
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])"
    ),
    "ast.parse replaced": _before("import ast\nast.parse = lambda *a, **k: ast.Module([], [])"),
    "trace hook": _before(
        "import sys\ndef off(frame, event, arg):\n    return off\nsys.settrace(off)\nsys.setprofile(lambda *a: None)"
    ),
    "exception hook": _before("import sys\nsys.excepthook = lambda *a: None\nget_ipython().showtraceback = print"),
    "it leaves with success": _ALL.replace("return {0}", "raise SystemExit(0)").format("[0]"),
    "it ends the process": _before("import os") .replace("return [0]", "os._exit(0)"),
    "it ends at exit": _before("import atexit, os\natexit.register(lambda: os._exit(0))"),
    "it kills itself": _before("import os, signal").replace("return [0]", "os.kill(os.getpid(), 9)"),
    "keyboard interrupt": _before("").replace("return [0]", "raise KeyboardInterrupt"),
    "stop iteration": _before("").replace("return [0]", "raise StopIteration"),
    "frames of the test": _before(
        "import sys\ndef peek():\n    frame = sys._getframe()\n    while frame:\n"
        "        for value in frame.f_locals.values():\n"
        "            if isinstance(value, str) and 'assert' in value: return value\n"
        "        frame = frame.f_back\n    return [0]"
    ).replace("return [0]\nclass", "return peek()\nclass"),
    "constants of the test by gc": _before(
        "import gc\ndef find():\n    for one in gc.get_objects():\n"
        "        if isinstance(one, list) and one == [1, 4, 9]: return one\n    return [0]"
    ).replace("def squares(n): return [0]", "def squares(n): return find()"),
    "names of the test": _before("stack = x = result = expected = None"),
    "the tests' own names": _before("test = check = outcome = run_code = lambda *a, **k: None"),
    "our modules patched": _before(
        "import sys\nfor name, one in list(sys.modules.items()):\n    if name.startswith('autograder.sandbox.inside'):\n"
        "        for each in list(vars(one)):\n"
        "            if each in ('run_test', 'run_code', 'describe_exception'):\n"
        "                setattr(one, each, lambda *a, **k: {'value': None})"
    ),
    "the reply is forged": _before(
        "import gc\nfor one in gc.get_objects():\n    if type(one).__name__ == 'Remote':\n"
        "        one._table['call'] = one._table['name'] = lambda *a, **k: True"
    ),
    "equality of operator": _before(f"import operator\noperator.eq = operator.getitem = {_TRUE}"),
    "a generator of answers": _before("import itertools").replace("return [0]", "return itertools.repeat(True)"),
    "an exception of a test": _before("").replace("return [0]", "raise AssertionError('passed')"),
    "prints that it passed": _before("").replace("return [0]", "print('All tests passed'); return [0]"),
    "globals replaced": _before("globals()['__builtins__'] = {'AssertionError': None}"),
    "what it was compared with": _object(
        "seen = []\n    def __eq__(self, other): Odd.seen.append(other); return True", "", "(Odd.seen[-1] if Odd.seen else Odd())"
    ),
    "nan everywhere": _ALL.format("float('nan')"),
}  # fmt: skip
