"""The requirement files, one per area."""
