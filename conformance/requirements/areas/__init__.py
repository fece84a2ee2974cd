"""The requirement files, one per area: see README.md."""
