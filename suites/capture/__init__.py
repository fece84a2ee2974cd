"""What a capture records, where, and that it runs nothing."""
