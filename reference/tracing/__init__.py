"""References about the shape after each line of a listing."""
