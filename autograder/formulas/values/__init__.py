"""What formulas are worth: exactly, as balls, at random points; and which are rounded."""
