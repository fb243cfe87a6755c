"""What crosses the pipes between the two sides, and what is made of it."""
