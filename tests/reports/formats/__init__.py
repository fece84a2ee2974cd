"""Tests of what programs read of a report."""
