"""Addresses in messages, which differ from run to run, though nothing else does."""

from __future__ import annotations

import re

#: An address in hexadecimal is longer than any 32-bit value; in decimal it lies where processes keep what they map.
_CANDIDATE = re.compile(r"\b0x[0-9a-fA-F]{9,16}\b|(?<![\w.])\d{14,15}(?![\w.])")
_MAPPED = range(0x5000_0000_0000, 0x8000_0000_0000)


def without_addresses(text: str) -> str:
    """`text` with a name for each address: ``address-1`` for the first one, wherever it stands, and so on."""
    names: dict[int, str] = {}

    def name(match: re.Match[str]) -> str:
        written = match[0]
        address = int(written, 0)
        if not written.startswith("0x") and address not in _MAPPED:
            return written
        return names.setdefault(address, f"address-{len(names) + 1}")

    return _CANDIDATE.sub(name, text)
