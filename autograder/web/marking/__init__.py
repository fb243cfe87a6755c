"""Pages on which people mark: the queue by question, one answer after another, groups of answers."""
