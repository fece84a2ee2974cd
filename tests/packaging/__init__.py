"""Packages of records, and what is refused as one."""
