"""Whether two formulas, equations or inequalities say the same."""
