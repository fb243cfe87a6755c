"""The form a formula is written in: factored, expanded, collected and others."""
