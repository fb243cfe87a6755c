"""Personal variants: the values drawn for each student, and their placement in texts."""
