"""What the calls of a test say of the order of work: points in the lanes of streams, and which waits for which.

The calls are lines of text, as ``docs/record.md`` describes them, and may be any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

_CALL = re.compile(
    r"(?P<end>end of )?(?P<owner>[a-z]+\d*)\.(?P<name>\w+)\((?P<arguments>[^()]*)\)?(?P<rest>.*)", re.DOTALL
)
_STREAM = re.compile(r"\bs\d+\b")
_EVENT = re.compile(r"\be\d+\b")
#: Calls on a graph that are points in the work of a stream.
_POINTS = frozenset(
    {"capture_begin", "capture_end", "capture_end_pre", "capture_end_post", "instantiate", "replay", "reset"}
)
#: Those after which a graph captures no more.
_ENDS = frozenset({"capture_end", "capture_end_pre", "reset"})
#: Lanes of streams that the calls do not name.
_CURRENT, _OWN = "current stream", "its own stream"


@dataclass(frozen=True)
class Point:
    """A call in the lane of a stream.

    Attributes:
        lane: the stream's name, or words for one that no call names.
        label: the call in a word or two, with a cross before one that raised.
        said: the whole line.
        after: the places of the points in other lanes that it makes its own lane wait for.
        capture: the graph that captures then, and how many captures were begun before this one.
    """

    lane: str
    label: str
    said: str
    after: tuple[int, ...] = ()
    capture: tuple[str, int] | None = None


def points_of(calls: Iterable[str]) -> list[Point]:
    """The calls that put the work of streams in order."""
    reader = _Reader()
    for call in calls:
        reader.take(call)
    return [replace(point, lane=reader.base) if point.lane == _CURRENT else point for point in reader.points]


class _Reader:
    """Reads one call after the other.

    Attributes:
        points: so far.
        base: the stream that is current outside of all blocks.
    """

    def __init__(self) -> None:
        self.points: list[Point] = []
        self.base = _CURRENT
        self._blocks: list[str] = []
        self._ends = False
        self._last: dict[str, int] = {}
        self._recorded: dict[str, int] = {}
        self._captures: list[tuple[str, int]] = []
        self._begun = 0

    @property
    def _lane(self) -> str:
        return self._blocks[-1] if self._blocks else self.base

    def take(self, call: str) -> None:
        """Take in a line."""
        match = _CALL.match(call.strip())
        if self._ends and not call.startswith(" "):  # what is indented happened while the block was left
            del self._blocks[-1:]
            self._ends = False
        if match is None:
            return
        owner, name = match["owner"], match["name"]
        if owner == "adapter":
            self._of_adapter(match)
        elif owner[0] == "s" or owner[0] == "e":
            self._of_tool(match, call.strip())
        elif owner[0] == "g" and name in _POINTS:
            self._of_graph(owner, name, call.strip())

    def _of_adapter(self, match: re.Match[str]) -> None:
        """Note which stream is current."""
        name, given = match["name"], _STREAM.findall(match["rest"])
        if name == "current_stream" and given:
            if self._blocks:
                self._blocks[-1] = given[0]
            else:
                self.base = given[0]
        elif name in {"stream", "capture"} and match["end"]:
            self._ends = True
        elif name in {"stream", "capture"} and " raised " not in match["rest"]:
            self._blocks.append(next(iter(_STREAM.findall(match["arguments"])), _OWN))

    def _of_tool(self, match: re.Match[str], said: str) -> None:
        """A call on a stream or an event."""
        owner, name = match["owner"], match["name"]
        streams, events = _STREAM.findall(match["arguments"]), _EVENT.findall(match["arguments"] + match["rest"])
        if owner[0] == "s":
            lane, others = owner, streams
        else:
            lane, others, events = (streams[0] if streams else self._lane), [], [owner]
        after = [self._last[stream] for stream in others if stream in self._last]
        if name in {"wait", "wait_event"}:
            after += [self._recorded[event] for event in events if event in self._recorded]
        if name in {"record", "record_event"}:
            self._recorded.update(dict.fromkeys(events, len(self.points)))
        self._add(Point(lane, name, said, tuple(after)))

    def _of_graph(self, graph: str, name: str, said: str) -> None:
        worked = " raised " not in said
        if name == "capture_begin" and worked:
            self._captures.append((graph, self._begun))
            self._begun += 1
        self._add(Point(self._lane, f"{graph} {name}" if worked else f"✗{graph} {name}", said))
        if name in _ENDS:
            self._captures = [capture for capture in self._captures if capture[0] != graph]

    def _add(self, point: Point) -> None:
        self._last[point.lane] = len(self.points)
        self.points.append(replace(point, capture=self._captures[-1] if self._captures else None))
