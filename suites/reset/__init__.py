"""reset(): what it deletes, what it leaves alone, and what the object can do afterwards."""
