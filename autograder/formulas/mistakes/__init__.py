"""Names the one mistake that turns the right formula into the given one."""
