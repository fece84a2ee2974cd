"""Tests of what people read in the repository: its pages, its links, its metadata."""
