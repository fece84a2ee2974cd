"""torch.accelerator.Graph alone: the documented examples, settings at construction, the graph in a with statement."""
