"""How fast formulas grow: products ordered by growth, and the order of growth of a formula."""
