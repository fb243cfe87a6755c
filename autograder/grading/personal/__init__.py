"""Personal variants: drawing, building and recording each student's version of the notebooks."""
