"""Building blocks of question kinds: planning calls, reading observed values and judging them."""
