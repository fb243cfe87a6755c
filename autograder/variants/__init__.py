"""Personal variants: what is drawn for each student, from what, and how drawn values come into texts."""
