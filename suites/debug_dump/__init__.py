"""enable_debug_mode and debug_dump: what the file shows, when it is written, and what writing it changes."""
