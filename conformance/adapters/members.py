"""What is wrong with an adapter itself, found before a test could be blamed for it."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from conformance.adapter import Adapter, ModuleAdapter
from conformance.adapters import trial
from conformance.errors import Unsupported, is_out_of_memory, one_line
from conformance.tracebacks import last_line_in, missing_method

#: How alike two names must be to be taken for one and the same.
_ALIKE = 0.85


def faults_in(adapter: Adapter) -> list[str]:
    """Whatever would fail in every test, and in none for what the graph class does; each with its place.

    What the device has no memory for just now, and what an adapter may leave out, is no fault.
    """
    return [*_misspelt(adapter), *_Calls(adapter).faults()]


class _Calls:
    """Calls once what every test needs, and what hardly any can do without where it is there."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self._faults: list[str] = []
        self._errors: set[str] = set()

    def faults(self) -> list[str]:
        """All that went wrong."""
        adapter = self._adapter
        self._call("environment", adapter.environment, _is_facts, "a dictionary of strings", judged=True)
        around = self._call("around_test", adapter.around_test, _is_context, "a context manager")
        with contextlib.ExitStack() as stack:
            if around is not None:
                self._call("around_test", lambda: stack.enter_context(around))
            self._streams()
            self._tensors()
            self._captures()
        return list(dict.fromkeys(self._faults))

    def _streams(self) -> None:
        adapter = self._adapter
        stream = self._call("current_stream", adapter.current_stream, needed=True)
        block = self._call("stream", lambda: adapter.stream(stream), _is_context, "a context manager", needed=True)
        if block is not None:
            self._call("stream", lambda: _enter(block))
        self._call("synchronize", adapter.synchronize, needed=True)
        capturing = adapter.is_current_stream_capturing
        self._call("is_current_stream_capturing", capturing, lambda value: isinstance(value, bool), "a bool", True)
        self._call("new_stream", adapter.new_stream)

    def _tensors(self) -> None:
        adapter = self._adapter
        if adapter.capabilities.get("memory_stats") is not False:
            self._call("memory_allocated", adapter.memory_allocated, _is_count, "an int", judged=True)
        if self._call("device", lambda: adapter.device, _is_device, "a torch.device") is None:
            return  # an adapter without tensors
        self._call("tensor", lambda: adapter.tensor([1.0, 2.0]), _is_tensor, "a tensor")
        x = self._call("full", lambda: adapter.full(2, 1.0), _is_tensor, "a tensor")
        if x is not None:
            self._call("read", lambda: adapter.read(x), _is_tensor, "a tensor")

    def _captures(self) -> None:
        """Capture and replay a small graph in both ways; what the class does wrong there is left to the tests."""
        for member, replay in (("capture_begin", trial.replay), ("capture", trial.replay_through_the_context)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    replay(self._adapter)
            except (Exception, Unsupported) as error:
                if _is_a_slip(error, self._adapter):
                    self._raised(member, error)
                with contextlib.suppress(Exception, Unsupported):  # a broken class deserves its verdicts, not a refusal
                    self._adapter.recover()

    def _call(  # what the calls differ in
        self,
        member: str,
        call: Callable[[], Any],
        fits: Callable[[Any], bool] | None = None,
        kind: str = "",
        needed: bool = False,
        judged: bool = False,
    ) -> Any:
        """What `call` gives; ``None`` when it fails or gives something else than a `kind`.

        Args:
            member: of the adapter, which `call` asks for.
            call: to make.
            fits: whether what it gives is of that kind.
            kind: in words.
            needed: by every test.
            judged: elsewhere, when it raises.
        """
        try:
            value = call()
        except Unsupported:
            return None
        except Exception as error:
            told_otherwise = judged and not _is_a_wrong_type(error)
            told_otherwise |= isinstance(error, NotImplementedError) and not needed
            if not told_otherwise and not is_out_of_memory(error):
                self._raised(member, error)
            return None
        if fits is not None and not fits(value):
            what = f"{type(value).__name__} {one_line(repr(value), 60)}"
            self._faults.append(f"{member} gives {what}, which is not {kind}{_place(self._adapter, member)}")
            return None
        return value

    def _raised(self, member: str, error: BaseException) -> None:
        """Tell of `error`, once: several members may stumble over the same line."""
        text = one_line(error) + last_line_in(error)
        if text not in self._errors:
            self._errors.add(text)
            self._faults.append(_raised(self._adapter, member, error))


def _is_a_wrong_type(error: Exception) -> bool:
    """Whether the kit's adapter for modules could make nothing of what the module gave."""
    innermost = list(traceback.walk_tb(error.__traceback__))[-1][0]
    return isinstance(error, TypeError | ValueError) and innermost.f_code.co_filename == inspect.getsourcefile(Adapter)


def _is_a_slip(error: BaseException, adapter: Adapter) -> bool:
    """Whether the adapter's own lines name what nothing has, rather than what the class should have."""
    if not isinstance(error, AttributeError | NameError):
        return False
    frames = list(traceback.walk_tb(error.__traceback__))
    innermost = frames[-1][0]
    files = {
        inspect.getsourcefile(cls) for cls in type(adapter).__mro__ if not _is_of_the_kit(cls) and cls is not object
    }
    in_class = isinstance(innermost.f_locals.get("self"), adapter.graph_class)
    if in_class or innermost.f_code.co_filename not in files:
        return False
    owner = getattr(error, "obj", None)
    if not isinstance(owner, adapter.graph_class):
        return True
    return bool(difflib.get_close_matches(str(error.name), dir(owner), n=1, cutoff=_ALIKE))


# -- misspelt ---------------------------------------------------------------------------------------------------------


def _misspelt(adapter: Adapter) -> Iterator[str]:
    """Members that nothing knows, and that are called nearly as what the adapter might define and does not."""
    kinds = [cls for cls in type(adapter).__mro__ if not _is_own(cls)]
    defined: dict[str, Any] = dict(vars(adapter))
    for cls in reversed(kinds):
        defined |= vars(cls)
    documented = {name: getattr(Adapter, name, None) for name in _documented() if name not in defined}
    for name, value in defined.items():
        if name.startswith("_") or hasattr(ModuleAdapter, name) or name in _documented():
            continue
        alike = [each for each, known in documented.items() if callable(known) == callable(value)]
        matches = difflib.get_close_matches(name, alike, n=1, cutoff=_ALIKE)
        if matches and name != matches[0] + "s":  # several of them are another thing
            yield f"no adapter has a member {name!r}; did you mean {matches[0]!r}?{_place(adapter, name)}"


def _documented() -> set[str]:
    names = {*vars(Adapter), *Adapter.__annotations__}
    return {name for name in names if not name.startswith("_")}


def _is_own(cls: type) -> bool:
    return cls is object or cls.__module__.split(".")[0] == __name__.split(".")[0]


# -- in words ---------------------------------------------------------------------------------------------------------


def _raised(adapter: Adapter, member: str, error: BaseException) -> str:
    if missing_method(error) == member:
        return f"it has no {member}(), which every test needs{_place(adapter, member)}"
    hint = ""
    if isinstance(error, AttributeError) and error.name is not None:
        matches = difflib.get_close_matches(error.name, dir(error.obj), n=1)
        hint = f"; did you mean {matches[0]!r}?" if matches else ""
    place = last_line_in(error) or _place(adapter, member)
    return f"{member} raised {one_line(error)}{hint}{place}"


def _place(adapter: Adapter, member: str) -> str:
    """Where `member` is defined, or else the class of the adapter, or the module that it is made of."""
    cls = type(adapter)
    value = inspect.getattr_static(cls, member, None)
    value = value.fget if isinstance(value, property) else value
    module = getattr(adapter, "module", None)
    for thing in (value, cls, getattr(module, member, None), module):
        with contextlib.suppress(OSError, TypeError):
            file = inspect.getsourcefile(thing)  # type: ignore[arg-type]  # what has no source is a TypeError
            if file is None or _is_of_the_kit(thing):
                continue
            line = 1 if inspect.ismodule(thing) else inspect.getsourcelines(thing)[1]  # type: ignore[arg-type]
            return f" at {file}, line {line}"
    return ""


def _is_of_the_kit(thing: object) -> bool:
    name = getattr(thing, "__module__", None) or getattr(thing, "__name__", "")
    return str(name).split(".")[0] == __name__.split(".")[0]


# -- kinds ------------------------------------------------------------------------------------------------------------


def _enter(block: contextlib.AbstractContextManager[Any]) -> None:
    with block:
        pass


def _is_context(value: object) -> bool:
    return hasattr(value, "__enter__") and hasattr(value, "__exit__")


def _is_facts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(word, str) for pair in value.items() for word in pair)


def _is_device(value: object) -> bool:
    import torch

    return isinstance(value, torch.device)


def _is_tensor(value: object) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
