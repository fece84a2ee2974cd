"""Packages of records for publication: made, redacted, and verified by anybody."""
