"""From a comparison to a verdict: findings and results, known mistakes, forbidden names, items for people."""
