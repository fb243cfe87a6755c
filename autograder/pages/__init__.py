"""Pages for people: feedback, staff pages, and assignments on paper."""
