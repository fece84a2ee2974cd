"""What a replay does, to which memory, on which stream, and when it is refused."""
