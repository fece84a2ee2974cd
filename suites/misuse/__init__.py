"""Documented methods called in states, on streams or with arguments that they are not for."""
