"""torch.xpu.XPUGraph alone: debug mode beside keep_graph, and what its documents leave open."""
