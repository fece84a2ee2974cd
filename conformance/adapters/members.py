"""Each member of an adapter, called once: what is wrong with it is found before a test could be blamed for it."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

from conformance.adapter import Adapter
from conformance.adapters import trial
from conformance.adapters.answers import Answer
from conformance.adapters.remedies import remedy
from conformance.adapters.spelling import is_alike, is_of_the_kit, misspelt, place_of
from conformance.errors import Unsupported, is_out_of_memory, one_line
from conformance.requirements.revisions import Revision
from conformance.requirements.vocabulary import CAPABILITIES, capability_of
from conformance.tracebacks import last_line_in, missing_method

#: What suites call on a stream and on an event.
_OF_STREAMS = ("wait_stream", "wait_event", "record_event", "synchronize")
_OF_EVENTS = ("record", "wait", "synchronize")
_CHARACTERS = 60
_NO_CAPTURE = "write new_stream, or `needs_side_stream = False` if the default stream can capture"
_ANSWERS_FALSE = (
    "is_current_stream_capturing() said False inside of a capture that recorded and replayed; "
    "if nothing of the device can tell, write `def is_current_stream_capturing(self): raise Unsupported(...)`"
)
#: What some members call on the adapter by default, so that what is wrong there would be told once more.
_CALLED_BY = {"read": ("synchronize",), "recover": ("synchronize", "is_current_stream_capturing")}
#: By the member that they are about, the programs of several calls.
PROGRAMS = {"capture_begin": "a capture and its replay", "capture": "the same with capture()"}


def faults_in(adapter: Adapter, *, suites: bool = False, misshapen: Collection[str] = ()) -> list[str]:
    """Whatever would fail in every test, and in none for what the graph class does; each with its place.

    What the device has no memory for just now, and what an adapter may leave out, is no fault.

    Args:
        adapter: to look at.
        suites: whether the kit's own suites are to run, which need what other tests may do without.
        misshapen: members that cannot be called, which somebody else tells of.
    """
    answers: list[Answer] = []
    Examination(adapter, ended=answers.append, suites=suites, misshapen=misshapen).run()
    faults = [answer.trouble for answer in answers if answer.whose == "adapter"]
    return list(dict.fromkeys(faults))


class Examination:
    """Calls once what every test needs, and what hardly any can do without where it is there.

    Args:
        adapter: to call.
        began: is told each member before it is called, which may end the process.
        ended: is told each answer.
        suites: whether what the kit's own suites need has to be there.
        misshapen: members that cannot be called.
        thorough: whether to call what only some tests do, too, where that takes time or may end the process.
    """

    def __init__(
        self,
        adapter: Adapter,
        *,
        ended: Callable[[Answer], None],
        began: Callable[[str], None] = lambda _: None,
        suites: bool = False,
        misshapen: Collection[str] = (),
        thorough: bool = False,
    ) -> None:
        self._adapter = adapter
        self._began = began
        self._ended = ended
        self._suites = suites
        self._thorough = thorough
        self._misshapen = misshapen
        self._errors: set[str] = set()

    def run(self) -> None:
        """Call all."""
        adapter = self._adapter
        for member, text in misspelt(adapter):
            self._ended(Answer(member, "never called", "adapter", text))
        with warnings.catch_warnings(), contextlib.ExitStack() as stack:
            warnings.simplefilter("ignore")
            self._call("environment", _is_facts, "a dictionary of strings", judged=True)
            around = self._call("around_test", _is_context, "a context manager")
            if around is not None:
                self._answer("around_test", lambda: stack.enter_context(around), told=False)
            self._streams()
            self._tensors()
            self._graphs()
            self._captures()

    def _streams(self) -> None:
        stream = self._call("current_stream", _is_there, "a stream", needed=True)
        block = self._call("stream", _is_context, "a context manager", stream, needed=True)
        if block is not None:
            self._answer("stream", lambda: _enter(block), told=False)
        self._call("synchronize", needed=True)
        self._call("is_current_stream_capturing", _is_bool, "a bool", needed=True)
        self._call("new_stream", _has(_OF_STREAMS), f"a stream with {', '.join(_OF_STREAMS)}")
        self._call("default_stream", _is_there, "a stream", judged=True)
        self._call("new_event", _has(_OF_EVENTS), f"an event with {', '.join(_OF_EVENTS)}", judged=True)
        self._call("recover", _is_trouble, "None or a str")

    def _tensors(self) -> None:
        for member in ("memory_allocated", "memory_reserved"):
            self._call(member, _is_count, "an int", judged=True)
        device = self._answer("device", lambda: self._adapter.device, _is_device, "a torch.device")
        if device is None:
            return  # an adapter without tensors
        on_device, where = _is_on(device.type), f"a tensor on {device.type}"
        self._call("tensor", on_device, where, [1.0, 2.0])
        x = self._call("full", on_device, where, 2, 1.0)
        if x is not None:
            self._call("read", _is_ones, "a tensor on the host with the values that were written, 1.0", x)
        if self._thorough:
            self._call("pinned", _is_on("cpu"), "a tensor on the host", [1.0], judged=True)
            self._call("manual_seed", None, "", 0, judged=True)
            self._call("empty_cache", judged=True)
            self._call("release_library_memory", judged=True)
            self._call("memory_snapshot", _is_list, "a list", judged=True)
            self._call("device_count", _is_count, "an int")

    def _graphs(self) -> None:
        adapter = self._adapter
        self._call("new_graph", _is_there, "a graph", judged=True)
        self._call("graph_pool_handle", _is_there, "a token", judged=True)
        if adapter.dialect == "cuda" and Revision("2.14") <= Revision(adapter.revision):
            self._call("new_mem_pool", _is_there, "a MemPool", judged=True)
        if self._thorough:
            self._call("unsafe_call", judged=True)
            with contextlib.suppress(Exception, Unsupported):  # frees it, and was asked itself before
                adapter.recover()

    def _captures(self) -> None:
        """Capture and replay a small graph in both ways; what the class does wrong there is left to the tests."""
        for member, replay in (("capture_begin", trial.replay), ("capture", trial.replay_through_the_context)):
            if member in self._misshapen:
                continue
            self._began(PROGRAMS[member])
            try:
                self._ended(_of_replay(member, replay(self._adapter)))
            except (Exception, Unsupported) as error:
                self._ended(self._of_failed_replay(member, error))
                with contextlib.suppress(Exception, Unsupported):  # a broken class deserves its verdicts, not a refusal
                    self._adapter.recover()

    def _of_failed_replay(self, member: str, error: BaseException) -> Answer:
        words = one_line(error) + last_line_in(error)
        if isinstance(error, Unsupported) and member == "capture_begin" and self._suites:
            text = f"no graph can be captured: {one_line(str(error))}; {_NO_CAPTURE}"
            return Answer(PROGRAMS[member], words, "adapter", text)
        if isinstance(error, Unsupported) or is_out_of_memory(error):
            return Answer(PROGRAMS[member], words)
        if _is_a_slip(error, self._adapter) or self._is_no_context(member, error):
            return self._of_error(member, error)
        missing = _missing(error)
        if missing is not None:
            return self._of_error(missing, error) if self._suites else Answer(missing, words)
        return Answer(PROGRAMS[member], words, "class", f"{trial.step(error)} raised {words}")

    def _is_no_context(self, member: str, error: BaseException) -> bool:
        """Whether what an adapter's own method returned cannot be entered, which is not the class's doing."""
        own = not is_of_the_kit(getattr(type(self._adapter), member, None))
        return own and member == "capture" and isinstance(error, TypeError | AttributeError) and _is_protocol(error)

    def _call(
        self,
        member: str,
        fits: Callable[[Any], bool] | None = None,
        kind: str = "",
        *arguments: Any,
        needed: bool = False,
        judged: bool = False,
    ) -> Any:
        """What the method `member` gives for `arguments`; otherwise as `_answer`."""
        return self._answer(
            member, lambda: getattr(self._adapter, member)(*arguments), fits, kind, needed=needed, judged=judged
        )

    def _answer(  # what the calls differ in
        self,
        member: str,
        call: Callable[[], Any],
        fits: Callable[[Any], bool] | None = None,
        kind: str = "",
        *,
        needed: bool = False,
        judged: bool = False,
        told: bool = True,
    ) -> Any:
        """What `call` gives; ``None`` when it fails or gives something else than a `kind`.

        Args:
            member: of the adapter, which `call` asks for.
            call: to make.
            fits: whether what it gives is of that kind.
            kind: in words.
            needed: by every test.
            judged: elsewhere, when it raises.
            told: whether to tell what it gives when all is well.
        """
        if {member, *_CALLED_BY.get(member, ())} & {*self._misshapen} or self._is_declined(member):
            return None
        self._began(member)
        try:
            value = call()
        except Unsupported as error:
            self._ended(Answer(member, f"unsupported: {one_line(str(error))}"))
            return None
        except Exception as error:
            self._ended(self._of_raising(member, error, needed=needed, judged=judged))
            return None
        if inspect.iscoroutine(value):
            value.close()
            text = f"{member} is a coroutine function, and nobody awaits it{place_of(self._adapter, member)}"
            self._ended(Answer(member, "a coroutine", "adapter", text))
            return None
        if fits is not None and not fits(value):
            what = f"{type(value).__name__} {_shown(member, value)}"
            text = f"{member} gives {what}, which is not {kind}{place_of(self._adapter, member)}{_then(member)}"
            self._ended(Answer(member, what, "adapter", text))
            return None
        if told:
            self._ended(Answer(member, _shown(member, value)))
        return value

    def _is_declined(self, member: str) -> bool:
        return self._adapter.capabilities.get(capability_of(member) or "") is False

    def _of_raising(self, member: str, error: Exception, *, needed: bool, judged: bool) -> Answer:
        words = one_line(error) + last_line_in(error)
        if is_out_of_memory(error):
            return Answer(member, words)
        if isinstance(error, NotImplementedError) and not needed:
            return self._of_error(member, error) if self._suites and self._is_owed(member) else Answer(member, words)
        if judged and not _is_a_wrong_type(error) and not _is_a_slip(error, self._adapter):
            capability = capability_of(member)
            if capability is None or not self._is_owed(member):
                return Answer(member, words)
            return Answer(member, words, "declaration", f"{_raised(self._adapter, member, error)}{_then(member)}")
        return self._of_error(member, error)

    def _is_owed(self, member: str) -> bool:
        """Whether the documents have the capability that `member` is for, if it is for one."""
        capability = CAPABILITIES.get(capability_of(member) or "")
        return capability is None or capability.begun_in(self._adapter.revision, self._adapter.dialect)

    def _of_error(self, member: str, error: BaseException) -> Answer:
        """The adapter's fault, once: several members may stumble over the same line."""
        words = one_line(error) + last_line_in(error)
        cause = _missing(error) or words
        if cause in self._errors:
            return Answer(member, words)
        self._errors.add(cause)
        return Answer(member, words, "adapter", _raised(self._adapter, member, error) + _then(member))


def _shown(member: str, value: object) -> str:
    """`value` in a few words; numbers only of what was read, since the device may not have others yet."""
    torch = sys.modules.get("torch")  # where nobody has imported it, there are no tensors
    try:
        if torch is None or not isinstance(value, torch.Tensor):
            return one_line(repr(value), _CHARACTERS)
        was_read = member == "read" and value.device.type == "cpu"
        return one_line(str(value.tolist()) if was_read else f"of shape {tuple(value.shape)} on {value.device}")
    except Exception:  # its own code
        return f"<{type(value).__name__}>"


def _of_replay(member: str, came_of_it: trial.Trial) -> Answer:
    words = one_line(str(came_of_it.replayed), _CHARACTERS)
    if came_of_it.wrong is not None:
        return Answer(PROGRAMS[member], words, "class", came_of_it.wrong)
    if came_of_it.told is False:
        # The suites judge it: the device may be what answers.
        return Answer(PROGRAMS[member], words, "declaration", _ANSWERS_FALSE)
    return Answer(PROGRAMS[member], words)


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
        inspect.getsourcefile(cls) for cls in type(adapter).__mro__ if not is_of_the_kit(cls) and cls is not object
    }
    in_class = isinstance(innermost.f_locals.get("self"), adapter.graph_class)
    if in_class or innermost.f_code.co_filename not in files:
        return False
    owner = getattr(error, "obj", None)
    if not isinstance(owner, adapter.graph_class):
        return True
    return is_alike(str(error.name), dir(owner))


def _is_protocol(error: BaseException) -> bool:
    """Whether Python itself says that a thing cannot be entered: ``__enter__`` is not there, and no code of its ran."""
    return "context manager protocol" in str(error) or "__enter__" in str(error)


def _missing(error: BaseException) -> str | None:
    return missing_method(error) or getattr(error, "member", None)


# -- in words ---------------------------------------------------------------------------------------------------------


def _raised(adapter: Adapter, member: str, error: BaseException) -> str:
    if _missing(error) == member:
        return f"it has no {member}(){place_of(adapter, member)}"
    hint = ""
    if isinstance(error, AttributeError) and error.name is not None:
        matches = difflib.get_close_matches(error.name, dir(error.obj), n=1)
        hint = f"; did you mean {matches[0]!r}?" if matches else ""
    place = last_line_in(error) or place_of(adapter, member)
    return f"{member} raised {one_line(error)}{hint}{place}"


def _then(member: str) -> str:
    text = remedy(member)
    return f"; {text}" if text else ""


# -- kinds ------------------------------------------------------------------------------------------------------------


def _enter(block: contextlib.AbstractContextManager[Any]) -> None:
    with block:
        pass


def _is_there(value: object) -> bool:
    return value is not None


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_trouble(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_context(value: object) -> bool:
    return hasattr(value, "__enter__") and hasattr(value, "__exit__")


def _has(names: tuple[str, ...]) -> Callable[[object], bool]:
    return lambda value: all(callable(getattr(value, name, None)) for name in names)


def _is_facts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(word, str) for pair in value.items() for word in pair)


def _is_device(value: object) -> bool:
    import torch

    return isinstance(value, torch.device)


def _is_on(kind: str) -> Callable[[object], bool]:
    import torch

    return lambda value: isinstance(value, torch.Tensor) and value.device.type == kind


def _is_ones(value: object) -> bool:
    return _is_on("cpu")(value) and value.tolist() == [1.0, 1.0]  # type: ignore[attr-defined]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
