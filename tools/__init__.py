"""Tools of this checkout, which nothing installs: run with ``python -m``."""
