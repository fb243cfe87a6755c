"""What marking by people rests on: points of items, groups of answers, how far markers agree, statistics."""
