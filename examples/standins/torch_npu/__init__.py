"""A stand-in for a package of this name: importing it makes ``torch.npu``."""

from standin.host import register

from torch_npu import npu

register("npu", npu)
