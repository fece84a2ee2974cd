"""A stand-in for a package of this name: importing it makes ``torch.mlu``."""

from standin.host import register

from torch_mlu import mlu

register("mlu", mlu)
