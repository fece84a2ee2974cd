"""keep_graph: who owns the template, and when the executable is made."""
