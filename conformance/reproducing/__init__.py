"""Scripts that show a failure without the kit."""
