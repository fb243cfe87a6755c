r"""Read formulas, compare them exactly, diagnose mistakes and typeset. No text is ever evaluated as code.

>>> from autograder.formulas import Symbol, Vocabulary, equal, parse, to_latex
>>> vocabulary = Vocabulary({"n": Symbol(), "d_model": Symbol(aliases=("d",))})
>>> answer = parse("2d(n + d) - d²", vocabulary)
>>> equal(answer, parse("d_model^2 + 2*n*d_model", vocabulary), vocabulary)
True
>>> to_latex(answer)
'2 \\cdot d_{\\text{model}} \\cdot \\left(n + d_{\\text{model}}\\right) - d_{\\text{model}}^{2}'

`README.md` in this folder describes the guarantees of the library.
"""

from __future__ import annotations

from autograder.formulas.errors import FormulaError, Undecided, Unreadable
from autograder.formulas.library import diagnose, equal, parse
from autograder.formulas.notation.vocabulary import Symbol, Vocabulary
from autograder.formulas.printing.latex import to_latex
from autograder.formulas.printing.mathml import to_mathml
from autograder.formulas.printing.text import to_text

__all__ = [
    "FormulaError", "Symbol", "Undecided", "Unreadable", "Vocabulary", "diagnose", "equal", "parse",
    "to_latex", "to_mathml", "to_text",
]  # fmt: skip
