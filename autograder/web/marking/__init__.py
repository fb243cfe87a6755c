"""Pages for manual marking: the queue by question, single answers, and groups of answers."""
