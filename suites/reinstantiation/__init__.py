"""A kept template is edited and instantiated again: which executable has which edits."""
