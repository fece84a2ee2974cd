"""The harness of the graph-capture conformance kit."""

__version__ = "0.1.0"
