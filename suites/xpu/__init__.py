"""torch.xpu.XPUGraph alone: debug mode and keep_graph, and what its documents leave open."""
