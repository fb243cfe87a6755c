"""Parse text into trees: one grammar for ASCII, Unicode and LaTeX."""
