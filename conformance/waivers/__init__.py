"""Known failures that are accepted for a while: read, applied, checked, and written as a start."""
