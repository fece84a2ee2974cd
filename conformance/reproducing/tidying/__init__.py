"""A specialised program without what specialising leaves: names used once, deletions of what is gone anyway."""
