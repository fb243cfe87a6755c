"""Find the single mistake that turns the correct formula into a wrong answer."""
