"""The documents that describe the classes, statement by statement: one TOML file each, see README.md."""
