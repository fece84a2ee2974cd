"""Implementations that are wrong on purpose, and the proof that the suites reject each for the right reason."""
