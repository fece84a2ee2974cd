"""The documented class torch.accelerator.Graph, and the functions of its device."""

from __future__ import annotations

from reference_impl.devices import namespace
from reference_impl.devices.namespace import *  # noqa: F403  # a device module has all of these names
from reference_impl.graphs.accelerator_graph import Graph

__all__ = ["Graph", *namespace.__all__]  # noqa: PLE0604  # they are strings
