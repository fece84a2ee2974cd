"""The software device: CPU tensors whose operators a capture records."""
