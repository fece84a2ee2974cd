"""A folder behind a part of an address, as hosts of files publish one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_PREFIX = "/some/where/"


@dataclass
class Served:
    """A folder that a server of this machine offers to this machine alone.

    Attributes:
        address: of the folder, with a slash at its end.
        asked: what was asked for, as pairs of a path and the status of the answer.
    """

    address: str
    asked: list[tuple[str, int]] = field(default_factory=list)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """Serve `folder` until the context ends."""
    with ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        offer = Served(f"http://127.0.0.1:{server.server_port}{_PREFIX}")
        server.RequestHandlerClass = partial(_Handler, offer, directory=str(folder))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield offer
        finally:
            server.shutdown()
            thread.join()


class _Handler(SimpleHTTPRequestHandler):
    """Knows the folder below `_PREFIX`, and nothing beside it."""

    protocol_version = "HTTP/1.1"

    def __init__(self, offer: Served, *arguments: Any, **settings: Any) -> None:
        self._offer = offer
        super().__init__(*arguments, **settings)

    def translate_path(self, path: str) -> str:
        if not path.startswith(_PREFIX):
            return str(Path(self.directory, "there is no such file"))
        return super().translate_path(path.removeprefix(_PREFIX.rstrip("/")))

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        del size
        self._offer.asked.append((self.path, int(code)))

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""
