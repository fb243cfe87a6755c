"""The page a student gets back, and the staff's pages of a run."""
