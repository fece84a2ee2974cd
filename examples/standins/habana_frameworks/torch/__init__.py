"""A stand-in for a package of this name: importing it makes ``torch.hpu``."""

from habana_frameworks.torch import hpu
from standin.host import register

register("hpu", hpu, lacks=("MemPool", "graph_pool_handle", "is_current_stream_capturing"))
