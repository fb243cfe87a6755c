"""The page a student gets back."""
