"""What an invented class hands in for the assignment about GPT-2, with the marks that it must get."""
