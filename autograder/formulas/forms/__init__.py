"""Forms in which a formula can be written: factored, expanded, collected and others."""
