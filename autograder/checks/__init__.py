"""What kinds of questions are made of: what is asked, what comes back, and what is made of it."""
