"""What formulas are worth: exactly, modulo primes, as balls, at random points; and which are rounded."""
