"""A graph class in a file of its own, as users have them, that is wrong on purpose."""

from __future__ import annotations

from reference_impl import CUDAGraph, graph_pool_handle
from reference_impl.pool_ids import PoolId


class NewTokenAtEveryCall(CUDAGraph):
    """pool() does not say which pool the graph uses."""

    def pool(self) -> PoolId:
        super().pool()
        return graph_pool_handle()
