"""The software device: CPU tensors whose operators a capture records."""

from __future__ import annotations
