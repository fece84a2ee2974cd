"""Edits of a program's template, of its clones and of its executable, and what the replays between them do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.adapter import Adapter
from conformance.checks import expect
from conformance.markers import needs, property_test, requirement
from suites.random_programs.scripts import DrawnScript, hold
from suites.support.captures import replay
from suites.support.editor import kept, refused_update, update
from suites.support.handles import executable_of, launch

DOES = "a replay does what the executable holds: the template of the latest instantiate(), and its own changes since"
CLONED = "a clone does what the template does, but for its own edits"
REFUSED = "an update from a template of another shape is refused"
AGREE = "the dependents that the runtime tells of a node are the edges that leave it"
MOVES = (
    *("instantiate", "edit", "switch", "change", "update", "clone"),
    *("refused", "add_child", "add_columns", "ask"),
)


@property_test
@requirement("random-programs.template-editing")
@needs("keep_graph")
def test_template_editing(impl: Adapter) -> None:
    """A program, a memset and a memcpy; further nodes, parameters, clones, updates and switched-off nodes."""
    hold(impl, 14, lambda script: _Scene(script).play())


@dataclass(frozen=True)
class _Work:
    """What a template or an executable does besides the captured work.

    Attributes:
        flag: what the memset writes, or ``None`` while it is switched off.
        source: what the memcpy copies.
        children: how many child graphs add 2 to ``y``.
        columns: the first column, their number and the value of a memset of a part of each row.
    """

    flag: int | None = 3
    source: str = "source"
    children: int = 0
    columns: tuple[int, int, int] | None = None


class _Scene:
    def __init__(self, script: DrawnScript) -> None:
        self.script = script
        self.factor, self.offset = script.number(2, 5), script.number(1, 9)
        self.template = self.executable = _Work()

    def play(self) -> None:
        """Draw and make the moves."""
        script = self.script
        script.use(kept, executable_of, update, refused_update, launch, replay, expect)
        script.do(
            "x, y, flag, copy = (impl.full(37, 0.0) for _ in range(4))",
            "source, other = impl.tensor([float(place) for place in range(37)]), impl.full(37, 8.0)",
            "matrix = impl.tensor(torch.zeros((4, 7), dtype=torch.uint8))",
            "def work():",
            f"    x.mul_({self.factor})",
            f"    x.add_({self.offset})",
            "graph, template = kept(impl, work)",
            "_child, further = kept(impl, lambda: y.add_(2))",
            "memset, memcpy = template.add_memset(flag, 3.0), template.add_memcpy(copy, source)",
        )
        self.instantiate()
        self.check()
        for _ in range(script.number(4, 8)):
            getattr(self, script.one_of(*MOVES))()
            self.check()

    def check(self) -> None:
        """A replay does what the executable holds."""
        self.expect(self.executable, "replay(impl, graph)", DOES)

    def expect(self, work: _Work, launched: str, promise: str) -> None:
        """What `launched` launches does this work."""
        start = self.script.number(-9, 9)
        self.script.do(
            f"x.fill_({start})",
            "for each, value in ((y, 0), (flag, -1), (copy, -1), (matrix, 0)):",
            "    each.fill_(value)",
            launched,
            "cells = torch.zeros((4, 7))",
        )
        if work.columns is not None:
            first, count, value = work.columns
            self.script.do(f"cells[:, {first}:{first + count}] = {value}")
        expected = {
            "x": f"{start * self.factor + self.offset}",
            "y": f"{2 * work.children}",
            "flag": f"{-1 if work.flag is None else work.flag}",
            "copy": "torch.arange(37)" if work.source == "source" else "8",
            "matrix": "cells",
        }
        self.script.do(*(f"expect_equal(impl, {name}, {value}, {promise!r})" for name, value in expected.items()))

    # -- moves --------------------------------------------------------------------------------------------------------

    def instantiate(self) -> None:
        """Make a new executable."""
        self.script.do("graph.instantiate()", "executable = executable_of(impl, graph)")
        self.executable = self.template

    def edit(self) -> None:
        """New parameters in the template alone."""
        value, source = self.script.number(4, 60), self.script.one_of("source", "other")
        self.script.do(f"template.change_memset(memset, flag, {value})")
        self.script.do(f"template.change_memcpy(memcpy, copy, {source})")
        self.template = replace(self.template, flag=value, source=source)

    def switch(self) -> None:
        """Switch the memset of the executable off, or the executable's own one on again."""
        if self.executable.flag is None:
            self.instantiate()
            return
        enabled = self.executable
        self.script.do("template.enable_in(executable, memset, enabled=False)")
        self.executable = replace(enabled, flag=None)
        if self.script.one_of(True, False):
            self.check()
            self.script.do("template.enable_in(executable, memset, enabled=True)")
            self.executable = enabled

    def change(self) -> None:
        """New parameters in the executable alone."""
        if self.executable.flag is None:
            return
        value, source = self.script.number(4, 60), self.script.one_of("source", "other")
        self.script.do(f"template.set_memset_in(executable, memset, flag, {value})")
        self.script.do(f"template.set_memcpy_in(executable, memcpy, copy, {source})")
        self.executable = replace(self.executable, flag=value, source=source)

    def update(self) -> None:
        """Bring the template's parameters, or those of an edited clone, to the executable."""
        same = (self.template.children, self.template.columns) == (self.executable.children, self.executable.columns)
        if self.executable.flag is None or not same:
            return
        if self.script.one_of(True, False):
            self.script.do("update(impl, executable, template)")
            self.executable = self.template
            return
        value = self.script.number(4, 60)
        self.script.do(
            "with template.clone() as clone:",
            f"    clone.change_memset(template.in_clone(memset, clone), flag, {value})",
            "    update(impl, executable, clone)",
        )
        self.executable = replace(self.template, flag=value)

    def clone(self) -> None:
        """Run an edited clone by an executable of its own."""
        value = self.script.number(4, 60)
        self.expect(
            replace(self.template, flag=value),
            "with template.clone() as clone:\n"
            f"    clone.change_memset(template.in_clone(memset, clone), flag, {value})\n"
            "    with clone.executable() as own:\n"
            "        launch(impl, own)",
            CLONED,
        )
        self.instantiate()

    def refused(self) -> None:
        """Try an update from a clone with one node more."""
        self.script.do(
            "with template.clone() as clone:",
            "    clone.add_memset(flag, 9.0, after=clone.leaves())",
            f"    expect(refused_update(impl, executable, clone), {REFUSED!r}, 'it was not refused')",
        )
        # How far such an update has come is the runtime's affair.
        self.instantiate()

    def add_child(self) -> None:
        """Add a child graph behind all that there is."""
        self.script.do("template.add_child(further, after=template.leaves())")
        self.template = replace(self.template, children=self.template.children + 1)

    def add_columns(self) -> None:
        """Add a memset of a part of each row."""
        if self.template.columns is not None:
            return
        first, count, value = self.script.number(0, 3), self.script.number(1, 4), self.script.number(1, 99)
        self.script.do(f"template.add_memset_of_columns(matrix, {first}, {count}, {value})")
        self.template = replace(self.template, columns=(first, count, value))

    def ask(self) -> None:
        """Ask for the nodes' dependents."""
        self.script.do(
            "for node in template.nodes():",
            "    leaving = {later for earlier, later in template.edges() if earlier == int(node)}",
            "    dependents = template.counted('cudaGraphNodeGetDependentNodes', node)",
            f"    expect(dependents == leaving, {AGREE!r}, f'{{dependents}} instead of {{leaving}}')",
        )
