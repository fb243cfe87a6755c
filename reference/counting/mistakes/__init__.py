"""Known mistakes of counting, by what is counted."""
