"""The tool that makes and runs mutants."""
