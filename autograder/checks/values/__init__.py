"""What an answer holds: literals, numbers, arrays and texts, read, compared and quoted."""
