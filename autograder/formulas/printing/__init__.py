"""Print trees as text, LaTeX and MathML."""
