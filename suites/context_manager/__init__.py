"""The context managers around a capture: streams, exceptions and arguments."""
