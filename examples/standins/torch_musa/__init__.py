"""A stand-in for a package of this name: importing it makes ``torch.musa``."""

from standin.host import register

from torch_musa import musa

register("musa", musa)
