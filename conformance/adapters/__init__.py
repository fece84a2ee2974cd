"""Adapters of the implementations that the kit knows by name.  Each is imported only when it is asked for."""
