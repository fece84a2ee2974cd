"""What ``graph-conformance doctor X`` finds out about one implementation, and how it says so."""
