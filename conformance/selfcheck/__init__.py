"""The suites tested: against implementations that are wrong on purpose, and against ones that are merely different."""
