"""From text to a tree: one grammar for ASCII, Unicode and LaTeX."""
