"""An adapter for a device module shaped like ``torch.cuda``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.adapter.contract import Adapter
from conformance.adapter.device_module import completed
from conformance.requirements.vocabulary import Dialect

if TYPE_CHECKING:
    import torch


class ModuleAdapter(Adapter):
    """An adapter for a device module shaped like ``torch.cuda``: the names below are looked up on it.

    Args:
        name: the implementation's name in records and reports.
        module: object with ``Stream``, ``Event``, ``stream``, ``current_stream``, ``default_stream``, ``synchronize``,
            ``graph``, ``graph_pool_handle``, ``make_graphed_callables``, ``is_current_stream_capturing``,
            ``empty_cache``, ``memory_allocated``, ``memory_reserved``, ``memory_snapshot``, ``manual_seed`` and
            ``MemPool``.  In the accelerator dialect ``graph``, ``graph_pool_handle`` and ``make_graphed_callables``
            are not asked for.  Names that it lacks are torch's generic ones, if `device` is the current accelerator.
        graph_class: the class under test.
        device: where tensors are made.
        dialect, revision, capabilities, runtime: see `Adapter`.

    The device module may be a module or any object with these names:

    >>> from types import SimpleNamespace
    >>> class VendorGraph:
    ...     capturing = False
    >>> class graph:
    ...     def __init__(self, vendor_graph, pool=None, stream=None, capture_error_mode="global"):
    ...         self.vendor_graph = vendor_graph
    ...
    ...     def __enter__(self):
    ...         self.vendor_graph.capturing = True
    ...
    ...     def __exit__(self, *error):
    ...         self.vendor_graph.capturing = False
    >>> vendor = SimpleNamespace(graph=graph, graph_pool_handle=lambda: (0, 1))
    >>> adapter = ModuleAdapter("vendor", vendor, VendorGraph, device="cpu", revision="2.14")
    >>> captured = adapter.new_graph()
    >>> with adapter.capture(captured, pool=adapter.graph_pool_handle(), mode="relaxed"):
    ...     captured.capturing
    True
    >>> captured.capturing
    False
    """

    def __init__(
        self,
        name: str,
        module: Any,
        graph_class: type,
        *,
        device: torch.device | str,
        dialect: Dialect = "cuda",
        revision: str,
        capabilities: Mapping[str, bool] | None = None,
        runtime: Any = None,
    ) -> None:
        self.name = name
        self.graph_class = graph_class
        self.dialect = dialect
        self.revision = revision
        self.capabilities = dict(capabilities or {})
        self.runtime = runtime
        import torch

        self.device = torch.device(device)
        self.module = completed(module, self.device)
