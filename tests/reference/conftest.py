"""One thread: the tensors are small, and waiting for other threads takes longer than the work."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
