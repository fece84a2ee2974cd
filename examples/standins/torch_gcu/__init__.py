"""A stand-in for a package of this name: importing it makes ``torch.gcu``."""

from standin.host import register

from torch_gcu import gcu

register("gcu", gcu)
