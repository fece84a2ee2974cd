"""The device boundary: what torch supplies around the runtime, from a GPU or from CPU tensors."""

from __future__ import annotations
