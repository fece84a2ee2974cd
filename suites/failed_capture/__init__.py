"""What is left after a capture that failed, was refused or was abandoned."""
