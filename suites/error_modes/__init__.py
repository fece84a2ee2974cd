"""capture_error_mode: which calls each mode refuses, to whom, and for how long."""
