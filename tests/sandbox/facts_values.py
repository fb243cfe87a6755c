"""Facts about values that leave a box: what arrives, and with which type."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.core.records import Call, OpaqueValue, Tensor
from tests.sandbox.contract import Ask, Fact, Raises, RunCell

CLASSES = """
import collections, decimal, enum, fractions, math
import numpy as np
class Whole(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class Word(str):
    def __eq__(self, other): return True
    def __str__(self): return 'lie'
    __hash__ = str.__hash__
class Real(float):
    def __float__(self): return 0.0
class Items(list):
    def __iter__(self): return iter([0])
    def __len__(self): return 99
class Pair(tuple):
    def __getitem__(self, index): return 'lie'
class Table(dict):
    def items(self): return [('lie', 0)]
class Colour(enum.IntEnum):
    RED = 3
class Liar:
    def __eq__(self, other): return True
    def __repr__(self): return 'right'
    __str__ = __repr__
    def __array__(self, *_, **__): return np.ones(3)
    def __float__(self): return 1.0
class Disguised:
    @property
    def __class__(self): return int
class Third(fractions.Fraction):
    def __str__(self): return '1/2'
Point = collections.namedtuple('Point', 'x y')
loop = []
loop.append(loop)
deep = 0
for _ in range(100):
    deep = [deep]
"""


def _exact(text: str, name: str = "Fraction") -> OpaqueValue:
    return OpaqueValue(name, text)


PLAIN: tuple[tuple[str, str, Any], ...] = (
    ("None", "None", None),
    ("truth values stay truth values", "[True, False, 1, 0]", [True, False, 1, 0]),
    ("a large integer", "2**200 + 1", 2**200 + 1),
    ("a large negative integer", "-(2**64)", -(2**64)),
    ("integers beside 2**53", "[2**53 - 1, 2**53, -2**53]", [2**53 - 1, 2**53, -(2**53)]),
    ("an integer past all use", "10**100_000", OpaqueValue("int")),
    (
        "NaN and the infinities",
        "[math.nan, math.inf, -math.inf]",
        [float("nan"), float("inf"), -float("inf")],
    ),
    ("minus zero and the smallest float", "(-0.0, 5e-324)", (-0.0, 5e-324)),
    ("tuples and lists stay apart", "(1, [2, (3,)], ())", (1, [2, (3,)], ())),
    ("nested containers", "{'a': [{'b': (1, None)}], 2: {}}", {"a": [{"b": (1, None)}], 2: {}}),
    ("keys of any plain type", "{(1, 'x'): 1, None: 2, 1.5: 3}", {(1, "x"): 1, None: 2, 1.5: 3}),
    ("a subclass of int is its number", "Whole(5)", 5),
    ("an enumeration is its number", "Colour.RED", 3),
    ("a subclass of str is its text", "Word('true text')", "true text"),
    ("a subclass of float is its number", "Real(2.5)", 2.5),
    ("a subclass of list is its items", "Items([1, 2])", [1, 2]),
    ("a subclass of tuple is its items", "Pair((1, 2))", (1, 2)),
    ("a named tuple is a tuple", "Point(1, 2)", (1, 2)),
    ("a subclass of dict is its entries", "Table(a=1)", {"a": 1}),
    ("an ordered dict is a dict", "collections.OrderedDict(b=1, a=2)", {"b": 1, "a": 2}),
    ("an object is only its type's name", "Liar()", OpaqueValue("Liar")),
    ("a disguised object is only its type's name", "[Disguised()]", Raises("TypeError")),
    (
        "a class, a function, a module",
        "[Liar, len, math]",
        [OpaqueValue("type"), OpaqueValue("builtin_function_or_method"), OpaqueValue("module")],
    ),
    (
        "bytes, sets and complex numbers",
        "[b'x', {1}, 1j]",
        [OpaqueValue("bytes"), OpaqueValue("set"), OpaqueValue("complex")],
    ),
    (
        "numpy scalars are plain",
        "[np.float64(1.5), np.int32(2), np.bool_(True), np.str_('s')]",
        [1.5, 2, True, "s"],
    ),
    (
        "fractions are exact texts",
        "[fractions.Fraction(1, 3), fractions.Fraction(-6, 3)]",
        [_exact("1/3"), _exact("-2")],
    ),
    ("a fraction past all use", "fractions.Fraction(1, 10**5000)", _exact("")),
    ("a fraction is its numbers, whatever it says", "Third(1, 3)", OpaqueValue("Third", "1/3")),
    (
        "decimals are exact texts",
        "[decimal.Decimal(text) for text in ('0.10', '1E+3', 'NaN')]",
        [_exact(text, "Decimal") for text in ("0.10", "1E+3", "NaN")],
    ),
    ("extended precision has no plain form", "[np.longdouble(1)]", [OpaqueValue("longdouble")]),
    ("an endless container is an error", "loop", Raises("ProtocolError")),
    ("a container nested too deeply is an error", "deep", Raises("ProtocolError")),
    ("a container of too many parts is an error", "list(range(300_000))", Raises("ProtocolError")),
)

ARRAYS: tuple[tuple[str, str, Any], ...] = (
    ("zero-dimensional", "np.array(3.5)", np.array(3.5)),
    ("zero-dimensional complex", "np.array(1 + 2j)", np.array(1 + 2j)),
    ("empty", "np.zeros((0, 3))", np.zeros((0, 3))),
    ("transposed", "np.arange(6).reshape(2, 3).T", np.arange(6).reshape(2, 3).T),
    ("strided backwards", "np.arange(6)[::-2]", np.array([5, 3, 1])),
    ("broadcast", "np.broadcast_to(np.array([1.0]), (2, 2))", np.ones((2, 2))),
    ("boolean", "np.array([True, False])", np.array([True, False])),
    ("half precision", "np.array([1.5], np.float16)", np.array([1.5], np.float16)),
    ("unsigned 64 bit", "np.array([2**64 - 1], np.uint64)", np.array([2**64 - 1], np.uint64)),
    ("complex64", "np.array([[1j, 2]], np.complex64)", np.array([[1j, 2]], np.complex64)),
    ("other byte order", "np.array([1.0, 2.0], '>f8')", np.array([1.0, 2.0])),
    ("NaN and infinities", "np.array([np.nan, np.inf])", np.array([np.nan, np.inf])),
    ("a matrix is its numbers", "np.matrix([[1, 2]])", np.array([[1, 2]])),
    ("a masked array is its numbers", "np.ma.array([1, 2], mask=[0, 1])", np.array([1, 2])),
    ("objects", "np.array([None])", OpaqueValue("ndarray")),
    ("extended precision", "np.zeros(1, np.longdouble)", OpaqueValue("ndarray")),
    ("extended complex", "np.zeros(1, np.clongdouble)", OpaqueValue("ndarray")),
    ("texts", "np.array(['a'])", OpaqueValue("ndarray")),
)

TENSOR_CLASSES = """
import torch
class Sly(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True
    def __eq__(self, other): return True
    __hash__ = None
parameter = torch.nn.Parameter(torch.ones(2))
"""


def _tensor(values: Any, dtype: str, kind: type = np.float32, **more: Any) -> Tensor:
    return Tensor(np.array(values, kind), dtype, **more)


TENSORS: tuple[tuple[str, str, Any], ...] = (
    ("float32", "torch.tensor([1.0, 2.0])", _tensor([1, 2], "float32")),
    ("zero-dimensional", "torch.tensor(1.5)", _tensor(1.5, "float32")),
    ("zero-dimensional complex", "torch.tensor(1j)", _tensor(1j, "complex64", np.complex64)),
    ("empty", "torch.zeros(2, 0)", _tensor(np.zeros((2, 0)), "float32")),
    ("transposed", "torch.arange(4).view(2, 2).t()", _tensor([[0, 2], [1, 3]], "int64", np.int64)),
    ("expanded", "torch.ones(1).expand(2, 2)", _tensor(np.ones((2, 2)), "float32")),
    (
        "bfloat16 is widened and named",
        "torch.tensor([1.5], dtype=torch.bfloat16)",
        _tensor([1.5], "bfloat16"),
    ),
    ("boolean", "torch.tensor([True])", _tensor([True], "bool", np.bool_)),
    ("conjugated", "torch.tensor([1 + 2j]).conj()", _tensor([1 - 2j], "complex64", np.complex64)),
    ("part of a complex one", "torch.tensor([1 + 2j]).imag", _tensor([2], "float32")),
    ("requiring grad", "torch.ones(1, requires_grad=True)", _tensor([1], "float32", requires_grad=True)),
    ("a parameter", "parameter", _tensor([1, 1], "float32", requires_grad=True)),
    ("sparse", "torch.eye(2).to_sparse()", _tensor(np.eye(2), "float32")),
    ("a subclass that lies is its numbers", "torch.zeros(2).as_subclass(Sly)", _tensor([0, 0], "float32")),
    ("inside containers", "{'a': (torch.ones(1), 1)}", {"a": (_tensor([1], "float32"), 1)}),
    ("a size is a tuple", "torch.zeros(2, 3).shape", (2, 3)),
    ("a dtype is its name", "torch.float16", OpaqueValue("dtype", "torch.float16")),
)

SYMPY: tuple[tuple[str, str, Any], ...] = (
    ("a sympy expression is its text", "12 * n**2", OpaqueValue("Mul", "12*n**2")),
    ("a sympy fraction is its text", "sympy.Rational(1, 3)", OpaqueValue("Rational", "1/3")),
    ("a sympy integer is its text", "sympy.Integer(3)", OpaqueValue("Integer", "3")),
)


def _facts(
    kind: str, setup: str, table: tuple[tuple[str, str, Any], ...], *, torch: bool = False
) -> list[Fact]:
    return [
        Fact(
            f"{kind}: {says}",
            (
                RunCell(f"{setup}\nvalue = {expression}", seconds=60),
                Ask((Call("value", read=True),), (expected,)),
            ),
            torch=torch,
        )
        for says, expression, expected in table
    ]


SENT: tuple[tuple[str, Any], ...] = (
    ("plain values", [None, True, 2**70, -0.0, float("nan"), "é", (1, [2]), {"k": {3: (4,)}}]),
    ("numpy arrays", [np.array(1.5), np.zeros((0, 2)), np.arange(6)[::2], np.array([1j]), np.array([True])]),
)
SENT_TENSORS: tuple[tuple[str, Any], ...] = (
    (
        "tensors",
        [
            _tensor(1.5, "float32"),
            _tensor([1.5], "bfloat16"),
            _tensor([1j], "complex128", np.complex128),
            _tensor([[True]], "bool", np.bool_),
            _tensor(np.zeros((0, 3)), "float32"),
        ],
    ),
)


def _there_and_back(table: tuple[tuple[str, Any], ...], *, torch: bool = False) -> list[Fact]:
    return [
        Fact(
            f"there and back: {says}",
            (
                RunCell("def same(x):\n    return x"),
                Ask((Call("same", args=(value,)),), (value,)),
            ),
            torch=torch,
        )
        for says, value in table
    ]


VALUES = (
    *_facts("plain", CLASSES, PLAIN),
    *_facts("array", CLASSES, ARRAYS),
    *_facts("sympy", "import sympy\nn = sympy.Symbol('n')", SYMPY),
    *_facts("tensor", TENSOR_CLASSES, TENSORS, torch=True),
    *_there_and_back(SENT),
    *_there_and_back(SENT_TENSORS, torch=True),
)
