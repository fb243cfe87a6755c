"""The kinds of question: one module or package for each. What more than one of them needs lies outside."""
