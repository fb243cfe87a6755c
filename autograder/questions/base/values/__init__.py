"""Values of answers: literals, numbers, arrays and texts, read, compared and quoted."""
