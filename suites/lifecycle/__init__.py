"""Graphs in any order of calls, held against a model of the documented states."""
