"""Stand-ins for device modules that are part of torch."""
