"""The documented graph classes, and what surrounds a capture."""
