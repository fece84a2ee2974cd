"""Two records side by side: what got better, what got worse, and what cannot be compared."""
