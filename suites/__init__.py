"""The conformance tests, one package per area."""
