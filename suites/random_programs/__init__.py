"""Programs that nobody wrote: eager and replayed, they give the same bits."""
