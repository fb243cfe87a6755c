"""From a comparison to a verdict: findings, results, known mistakes, forbidden names, manual review."""
