"""Names of files, made of text of unknown origin."""

from __future__ import annotations

import re

_LONGEST = 80


class Names:
    """Gives each text the name of a file of its own.

    A name has letters, digits, ``.``, ``_`` and ``-``, begins with a letter, a digit or ``_``, and is no other's even
    where case is ignored.

    Args:
        otherwise: the name of what has no letter that a name can have.

    >>> names = Names("page")
    >>> names.make("../../etc/passwd"), names.make("a b"), names.make("A-B"), names.make("..")
    ('etc-passwd', 'a-b', 'A-B-2', 'page')
    """

    def __init__(self, otherwise: str) -> None:
        self._otherwise = otherwise
        self._taken: set[str] = set()

    def make(self, text: str) -> str:
        """A new name that is like `text`."""
        # No name begins with a dot or a dash: it would be a hidden file, a folder above, or an option.
        stem = re.sub(r"[^A-Za-z0-9._]+", "-", text)[:_LONGEST].strip(".-") or self._otherwise
        name, number = stem, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._taken.add(name.lower())
        return name
