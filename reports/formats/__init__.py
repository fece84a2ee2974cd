"""What programs read of a report: one module for each file, described in ``docs/formats.md``."""
