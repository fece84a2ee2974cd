"""Templates and executables queried and changed through the runtime, by their raw handles."""
