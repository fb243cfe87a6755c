"""What marking by people rests on, whatever shows it: points of items, groups of answers, agreement of markers."""
