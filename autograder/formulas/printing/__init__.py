"""From a tree to text, LaTeX and MathML."""
