"""A specialised program without what specialising leaves: names used once, deletions of what is gone anyway."""

from __future__ import annotations

import ast
import builtins
import collections
import copy
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.reproducing.specialising.syntax import assignment


def tidy(body: list[ast.stmt], better: Mapping[str, str] | None = None) -> list[ast.stmt]:
    """Tidy the body of a function, whose names are all its own, and give those names that have them `better` ones."""
    whole = ast.Module(body, [])
    body = whole.body
    _simplify(whole)
    _caught_in_vain(whole)
    _handed_on(whole)
    _certain(whole)
    while _unused(whole) | _substituted(whole):
        pass
    for block in _blocks(whole):
        for place in range(len(block) - 1, 0, -1):
            if _asks_for_a_capture(block[place]) and _has_ended(block[:place]):
                del block[place]
    _waits_once(whole)
    _streams(whole)
    _deletions(whole)
    _ending(body)
    while _unused(whole) | _substituted(whole):
        pass
    _handed_on(whole)
    while _unused(whole) | _substituted(whole):
        pass
    _merged(whole)
    _renamed(whole, better or {})
    for node in ast.walk(whole):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            name = node.target.id
            if not any(
                isinstance(part, ast.Name) and part.id == name for entry in node.body for part in ast.walk(entry)
            ):
                node.target.id = "_"
    return body


def _ends_a_capture(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="capture_end"))):
            return True
    return False


def _has_ended(block: list[ast.stmt]) -> bool:
    """Whether statements end with a capture that has ended, as no class leaves one open that its script gets past."""
    without_error: set[str] = set()
    for node in reversed(block):
        if _ends_a_capture(node):
            return True
        match node:
            case ast.Assert(test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(None)])):
                without_error.add(name)
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Call(args=[ast.Attribute(attr="capture_end")]),
                    ops=[ast.Is()],
                    comparators=[ast.Constant(None)],
                )
            ):
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[ast.Attribute(attr="capture_end")])):
                if name in without_error:
                    return True
        if any(isinstance(part, ast.Attribute) and part.attr == "capture_begin" for part in ast.walk(node)):
            return False
    return False


def _streams(whole: ast.Module) -> None:
    """Ask for the current stream where it is waited for, if it is the same there: in the block that asked."""
    for part in ast.walk(whole):
        if isinstance(part, ast.Attribute) and part.attr in ("set_stream", "__enter__"):
            return
        match part:
            case ast.Call(func=ast.Attribute(attr="enter_context"), args=[entered]) if "patch" not in ast.unparse(
                entered
            ):
                return
    uses = _uses(whole)
    for block in _blocks(whole):
        for node in list(block):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(attr="current_stream"))):
                    after = block[block.index(node) + 1 :]
                    waits = [call for entry in after for call in _waits(entry, name)]
                    deleted = sum(_deletes(part, name) for part in ast.walk(whole))
                    if len(waits) == uses[name] - 1 - deleted:
                        for call in waits:
                            _exchange(call, name, node.value)
                        block.remove(node)
                        _forget(whole, {name})


def _waits_once(whole: ast.Module) -> None:
    """Wait for the device once where it is waited for several times in a row."""
    for block in _blocks(whole):
        for place in range(len(block) - 1, 0, -1):
            match block[place]:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="synchronize"), args=[], keywords=[])) as node:
                    if ast.dump(block[place - 1]) == ast.dump(node):
                        del block[place]


def _waits(node: ast.stmt, name: str) -> list[ast.Call]:
    """The call of a statement by which one stream waits for another, if `name` is one of the two."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=one, attr="wait_stream"), args=[other]) as call):
            named = [entry for entry in (one, other) if isinstance(entry, ast.Name) and entry.id == name]
            return [call] if len(named) == 1 else []
    return []


def _deletes(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Delete) and any(
        isinstance(entry, ast.Name) and entry.id == name for entry in node.targets
    )


def _exchange(call: ast.Call, name: str, value: ast.expr) -> None:
    assert isinstance(call.func, ast.Attribute)
    if isinstance(call.func.value, ast.Name) and call.func.value.id == name:
        call.func.value = copy.deepcopy(value)
    else:
        call.args = [copy.deepcopy(value)]


def _asks_for_a_capture(node: ast.stmt) -> bool:
    """Whether a statement does something only if a capture is left open."""
    match node:
        case ast.If(test=ast.Call(func=ast.Attribute(attr="is_current_stream_capturing")), orelse=[]):
            return True
    return False


def _renamed(whole: ast.Module, better: Mapping[str, str]) -> None:
    names = {part.id for part in ast.walk(whole) if isinstance(part, ast.Name)}
    names |= {part.arg for part in ast.walk(whole) if isinstance(part, ast.arg)}
    names |= {part.name for part in ast.walk(whole) if isinstance(part, ast.FunctionDef)}
    names |= {str(part.name) for part in ast.walk(whole) if isinstance(part, ast.ExceptHandler)}
    changed: dict[str, str] = {}
    for name, wish in better.items():
        if name in names and wish and not keyword.iskeyword(wish) and wish not in vars(builtins):
            final, number = wish, 1
            while final in names:
                number += 1
                final = f"{wish}_{number}"
            names.add(final)
            changed[name] = final
    for part in ast.walk(whole):
        if isinstance(part, ast.Name):
            part.id = changed.get(part.id, part.id)
        elif isinstance(part, ast.Nonlocal):
            part.names = [changed.get(name, name) for name in part.names]


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """All blocks of statements."""
    for name in ("body", "orelse", "finalbody", "handlers"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            if name != "handlers" and not isinstance(node, ast.ClassDef):
                yield block
            for entry in list(block):
                yield from _blocks(entry)


def _uses(node: ast.AST) -> collections.Counter[str]:
    return collections.Counter(part.id for part in ast.walk(node) if isinstance(part, ast.Name))


def _simplify(whole: ast.Module) -> None:
    for node in ast.walk(whole):
        if isinstance(node, ast.Call):
            # What says no more than leaving it out.
            node.keywords = [
                entry
                for entry in node.keywords
                if not (entry.arg == "dtype" and isinstance(entry.value, ast.Constant) and entry.value.value is None)
            ]


def _handed_on(whole: ast.Module) -> None:
    """Call what a function hands all its arguments on to; write one of two values in one line."""
    uses = {part for part in ast.walk(whole) if isinstance(part, ast.Name)}
    called = {call.func for call in ast.walk(whole) if isinstance(call, ast.Call) and not call.keywords}
    for block in _blocks(whole):
        for place, node in enumerate(block):
            match node:
                case ast.FunctionDef(name=name, body=[ast.Return(value=ast.Call(func=ast.Name(id=other)) as call)]):
                    own = [part for part in uses if part.id == name]
                    if _arguments(node.args) == ast.unparse(call)[len(other) :] and called.issuperset(own):
                        for part in own:
                            part.id = other
                        block[place] = ast.Pass()
                case ast.If(
                    test=test,
                    body=[ast.Assign(targets=[ast.Name(id=name)], value=one)],
                    orelse=[ast.Assign(targets=[ast.Name(id=same)], value=two)],
                ) if name == same:
                    block[place] = assignment(name, ast.IfExp(test, one, two))
        if any(isinstance(node, ast.Pass) for node in block) and len(block) > 1:
            block[:] = [node for node in block if not isinstance(node, ast.Pass)] or [ast.Pass()]


def _caught_in_vain(whole: ast.Module) -> None:
    """Catch nothing that is only raised again."""
    for block in _blocks(whole):
        for place in range(len(block) - 1, -1, -1):
            node = block[place]
            if not isinstance(node, ast.Try):
                continue
            while node.handlers and _raises_again(node.handlers[-1]):
                node.handlers.pop()
            if not node.handlers and not node.finalbody:
                block[place : place + 1] = [*node.body, *node.orelse]


def _raises_again(handler: ast.ExceptHandler) -> bool:
    match handler.body:
        case [ast.Raise(exc=None)]:
            return True
    return False


def _certain(whole: ast.Module) -> None:
    """Leave out whether what an operator has just given is there."""
    for block in _blocks(whole):
        for place in range(len(block) - 1, 0, -1):
            match block[place - 1], block[place]:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp()),
                    ast.Assert(test=ast.Compare(left=ast.Name(id=same), ops=[ast.IsNot()])),
                ) if name == same:
                    del block[place]


def _merged(whole: ast.Module) -> None:
    """Enter in one line what is entered one right after the other."""
    for node in ast.walk(whole):
        while isinstance(node, ast.With) and len(node.body) == 1 and isinstance(node.body[0], ast.With):
            inner = node.body[0]
            node.items += inner.items
            node.body = inner.body


def _arguments(arguments: ast.arguments) -> str | None:
    """How a call hands on all that a function takes, if it takes nothing by a default or by a name."""
    if arguments.defaults or arguments.kwonlyargs or arguments.kwarg:
        return None
    names = [entry.arg for entry in (*arguments.posonlyargs, *arguments.args)]
    return f"({', '.join([*names, *([f'*{arguments.vararg.arg}'] if arguments.vararg else [])])})"


def _unused(whole: ast.Module) -> bool:
    """Drop names that nothing reads."""
    read: collections.Counter[str] = collections.Counter()
    for part in ast.walk(whole):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            read[part.id] += 1
        elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
            read[part.target.id] += 1
        elif isinstance(part, ast.Nonlocal):
            read.update(part.names)
    dropped: set[str] = set()
    for block in _blocks(whole):
        for place, node in enumerate(block):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if not read[name] and not _holds(value):
                    dropped.add(name)
                    block[place] = ast.Expr(value) if _has_effect(value) else ast.Pass()
        if any(isinstance(node, ast.Pass) for node in block) and len(block) > 1:
            block[:] = [node for node in block if not isinstance(node, ast.Pass)] or [ast.Pass()]
    _forget(whole, dropped)
    return bool(dropped)


def _holds(value: ast.expr) -> bool:
    """Whether a name may be all that keeps what a call makes."""
    if isinstance(value, ast.Await):
        return True
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return not name.endswith("_") and name not in (
        "current_stream",
        "Stream",
        "capture_end",
        "capture_begin",
        "replay",
        "instantiate",
        "reset",
        "runtime_call",
    )


def _has_effect(value: ast.expr) -> bool:
    return any(isinstance(part, ast.Call | ast.Await | ast.Yield) for part in ast.walk(value))


def _forget(whole: ast.Module, names: set[str]) -> None:
    """Take names out of all deletions."""
    for block in _blocks(whole) if names else ():
        for node in list(block):
            if isinstance(node, ast.Delete):
                node.targets = [
                    entry for entry in node.targets if not (isinstance(entry, ast.Name) and entry.id in names)
                ]
                if not node.targets:
                    block[block.index(node)] = ast.Pass()
        if any(isinstance(node, ast.Pass) for node in block) and len(block) > 1:
            block[:] = [node for node in block if not isinstance(node, ast.Pass)] or [ast.Pass()]


def _substituted(whole: ast.Module) -> bool:
    """Write what a name stands for where it is used, if that is once, at once, and before anything else is done."""
    uses, deleted = _uses(whole), collections.Counter[str]()
    for part in ast.walk(whole):
        if isinstance(part, ast.Delete):
            deleted.update(entry.id for entry in part.targets if isinstance(entry, ast.Name))
        elif isinstance(part, ast.Nonlocal):
            uses.update(dict.fromkeys(part.names, 2))
    done: set[str] = set()
    for block in _blocks(whole):
        for place in range(len(block) - 2, -1, -1):
            match block[place], block[place + 1]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value), ast.Assert(msg=ast.expr()) as check:
                    if uses[name] - deleted[name] == 2 and _is_wording(value) and _worded(check, name, value):
                        del block[place]
                        done.add(name)
        # Backwards, so that what is written in the next statement is written in the one after, too.
        for place in range(len(block) - 2, -1, -1):
            match block[place]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) if uses[name] - deleted[name] == 2:
                    if _replaced(block[place + 1], name, value):
                        del block[place]
                        done.add(name)
    _forget(whole, done)
    return bool(done)


def _is_wording(value: ast.expr) -> bool:
    """Whether it makes no difference when a text is made."""
    calls = [part.func for part in ast.walk(value) if isinstance(part, ast.Call)]
    plain = all(isinstance(call, ast.Name) and call.id in ("type", "repr", "str", "len") for call in calls)
    return plain and isinstance(value, ast.JoinedStr | ast.IfExp)


def _worded(check: ast.Assert, name: str, value: ast.expr) -> bool:
    """Put `value` in the place of `name` in what an assertion says."""
    if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(check.test)):
        return False
    assert check.msg is not None
    check.msg = _Exchange(name, value).visit(check.msg)
    return True


class _Exchange(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._value if node.id == self._name else node


def _replaced(node: ast.stmt, name: str, value: ast.expr) -> bool:
    """Put `value` in the place of `name`, if that is the first thing that a statement computes."""
    fields: dict[type, tuple[str, ...]] = {
        ast.Assign: ("value",),
        ast.Expr: ("value",),
        ast.Return: ("value",),
        ast.Assert: ("test",),
        ast.AugAssign: ("value",),
        ast.If: ("test",),
        ast.For: ("iter",),
        ast.With: ("items",),
    }
    if type(node) not in fields:
        return False
    if isinstance(node, ast.Assign) and not all(map(_is_plain_target, node.targets)):
        return False
    if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
        return False
    owner: Any = node
    field = fields[type(node)][0]
    if isinstance(node, ast.With):
        owner, field = node.items[0], "context_expr"
    expression = getattr(owner, field)
    if expression is None:
        return False
    found = _first(expression, name, isinstance(value, ast.Constant | ast.Name))
    if found is None:
        return False
    holder, key, place = found if found != () else (owner, field, None)
    if place is None:
        setattr(holder, key, value)
    else:
        getattr(holder, key)[place] = value
    return True


def _is_plain_target(node: ast.expr) -> bool:
    """Whether nothing is done for a target, which is computed after the value."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Name)
    return isinstance(node, ast.Name | ast.Tuple)


def _first(expression: ast.expr, name: str, constant: bool) -> Any:
    """Where `name` stands in an expression, if nothing is done before it is read."""
    path: list[tuple[ast.AST, str, int | None]] = []

    def search(node: ast.AST) -> bool | None:
        """Whether it is found; ``None`` when something is done before it."""
        if isinstance(node, ast.Name):
            return node.id == name
        if isinstance(node, ast.Constant | ast.expr_context):
            return False
        if isinstance(
            node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.BoolOp | ast.IfExp
        ):
            if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
                path.append((node.generators[0], "iter", None))
                found = search(node.generators[0].iter)
                if found:
                    return True
                path.pop()
                return None
            first = node.values[0] if isinstance(node, ast.BoolOp) else getattr(node, "test", None)
            if first is not None:
                path.append(
                    (
                        node,
                        "values" if isinstance(node, ast.BoolOp) else "test",
                        0 if isinstance(node, ast.BoolOp) else None,
                    )
                )
                found = search(first)
                if found:
                    return True
                path.pop()
            return None
        for field, content in ast.iter_fields(node):
            entries = content if isinstance(content, list) else [content]
            for place, entry in enumerate(entries):
                if not isinstance(entry, ast.AST) or isinstance(entry, ast.operator | ast.cmpop | ast.unaryop):
                    continue
                path.append((node, field, place if isinstance(content, list) else None))
                found = search(entry)
                if found is None or found:
                    return found
                path.pop()
        # Computing this one may do something; of a name's or a plain attribute's value it makes no difference.
        if isinstance(node, ast.Call) and not constant:
            return None
        return False

    if search(expression) is not True:
        return None
    return path[-1] if path else ()


# -- deletions --------------------------------------------------------------------------------------------------------


def _deletions(whole: ast.Module) -> None:
    """Keep those deletions that let go of something, and where they are sure to find it."""
    captured = {
        part.id
        for function in ast.walk(whole)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for part in ast.walk(function)
        if isinstance(part, ast.Name)
    }
    light = _light(whole)
    later = _later(whole)
    for block in list(_blocks(whole)):
        here: set[str] = set()
        for node in list(block):
            if isinstance(node, ast.Delete) and not hasattr(node, "asked"):  # by the test itself
                node.targets = [
                    entry
                    for entry in node.targets
                    if not isinstance(entry, ast.Name)
                    or (
                        entry.id in here
                        and entry.id not in captured | light
                        and not any(_is_read(entry.id, way) for way in later[node])
                    )
                ]
                if not node.targets:
                    block.remove(node)
                    continue
            here |= _assigned_for_sure(node)
        for place in range(len(block) - 1, 0, -1):
            one, other = block[place - 1], block[place]
            if isinstance(one, ast.Delete) and isinstance(other, ast.Delete):
                one.targets += other.targets
                del block[place]
        if not block and any(block is getattr(part, "body", None) for part in ast.walk(whole)):
            block.append(ast.Pass())


def _later(whole: ast.Module) -> dict[ast.Delete, list[list[ast.stmt]]]:
    """What may be run after each deletion, in order, one way after the other."""
    found: dict[ast.Delete, list[list[ast.stmt]]] = {}

    def look(block: list[ast.stmt], ways: list[list[ast.stmt]]) -> None:
        for place, node in enumerate(block):
            after = [[*block[place + 1 :], *way] for way in ways]
            if isinstance(node, ast.Delete):
                found[node] = after
            handlers: list[ast.ExceptHandler] = getattr(node, "handlers", [])
            for handler in handlers:
                look(handler.body, after)
            for name in ("body", "orelse", "finalbody"):
                inner: list[ast.stmt] = getattr(node, name, [])
                again = [[*inner, *way] for way in after] if isinstance(node, ast.For | ast.While) else []
                caught = [[*handler.body, *way] for handler in handlers for way in after]
                look(inner, [*after, *again, *caught])

    look(whole.body, [[]])
    return found


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _is_read(name: str, nodes: list[ast.stmt]) -> bool:
    """Whether statements read a name before they assign it anew."""
    for place, node in enumerate(nodes):
        if isinstance(node, ast.With) and not any(_reads(item, name) for item in node.items):
            return _is_read(name, [*node.body, *nodes[place + 1 :]])
        if isinstance(node, ast.For) and not _reads(node.iter, name) and not _reads(node.target, name):
            if _is_read(name, [*node.body, *node.orelse]):
                return True
            continue
        parts = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == name]
        changed = {part.target for part in ast.walk(node) if isinstance(part, ast.AugAssign)}
        if any(isinstance(part.ctx, ast.Load) or part in changed for part in parts):
            return True
        if name in _assigned_for_sure(node):
            return False
    return False


def _assigned_for_sure(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.With):
        return {name for entry in node.body for name in _assigned_for_sure(entry)} | {
            part.id
            for item in node.items
            if item.optional_vars is not None
            for part in ast.walk(item.optional_vars)
            if isinstance(part, ast.Name)
        }
    if isinstance(node, ast.Assign):
        return {part.id for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Name)}
    return set()


#: Calls that give things that hold nothing.
_LIGHT = {
    *("Stream", "current_stream", "default_stream", "memory_allocated", "memory_reserved", "bool", "int", "str", "len"),
    *("is_current_stream_capturing", "data_ptr", "Event", "float", "repr", "type", "numel", "graph_pool_handle"),
    *("pool", "element_size", "sorted", "isinstance", "getattr", "item", "any", "all", "sum", "raw_cuda_graph"),
    *("runtime_call", "caught", "range", "nodes_of", "edges_of", "memset_parameters"),
}


#: Those of torch that make a tensor on the host.
_ON_HOST = {"full", "tensor", "arange", "zeros", "ones", "empty", "linspace"}


def _light(whole: ast.Module) -> set[str]:
    """Names of things that hold nothing."""
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(whole):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    values.setdefault(part.id, []).append(value)
    light: set[str] = set()
    while True:
        found = {name for name, nodes in values.items() if all(_is_light(node, light - {name}) for node in nodes)}
        if found <= light:
            return light
        light |= found


def _is_light(node: ast.expr, light: set[str]) -> bool:
    if isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare):
        return True
    if isinstance(node, ast.Name):
        return node.id in light
    if isinstance(node, ast.IfExp):
        return _is_light(node.body, light) and _is_light(node.orelse, light)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) or _is_light(node.operand, light)
    if isinstance(node, ast.BinOp):
        return _is_light(node.left, light) and _is_light(node.right, light)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        # What begins empty is there to be filled.
        return bool(node.elts) and all(_is_light(entry, light) for entry in node.elts)
    if isinstance(node, ast.Dict):
        entries = (*node.keys, *node.values)
        return bool(entries) and all(entry is not None and _is_light(entry, light) for entry in entries)
    if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
        return _is_light(node.elt, light)
    if isinstance(node, ast.DictComp):
        return _is_light(node.key, light) and _is_light(node.value, light)
    if isinstance(node, ast.Subscript | ast.Starred | ast.Attribute):
        return _is_light(node.value, light)
    if isinstance(node, ast.BoolOp):
        return all(_is_light(entry, light) for entry in node.values)
    if isinstance(node, ast.Call):
        return _gives_light(node, light)
    return False


def _gives_light(node: ast.Call, light: set[str]) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("detach", "expand_as", "add_") and isinstance(node.func, ast.Attribute):
        return _is_light(node.func.value, light)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if isinstance(owner, ast.Name):
        # A tensor on the host, and what the runtime gives: numbers and structures of them.
        on_host = owner.id == "torch" and name in _ON_HOST and not any(e.arg == "device" for e in node.keywords)
        if on_host or owner.id == "runtime":
            return True
    # Copies on the host, and what is compared with them.
    host = name == "to" and any(isinstance(entry, ast.Constant) and entry.value == "cpu" for entry in node.args)
    if node.args and name in ("list", "tuple", "set", "dict", "zip", "enumerate", "iter", "reversed", "fromkeys"):
        return all(_is_light(entry, light) for entry in node.args)
    return host or name == "as_tensor" or name in _LIGHT


def _ending(body: list[ast.stmt]) -> None:
    """The end of a function lets go of everything."""
    while body and (
        (isinstance(body[-1], ast.Delete) and not hasattr(body[-1], "asked"))
        or (isinstance(body[-1], ast.Return) and body[-1].value is None)
        or isinstance(body[-1], ast.Pass)
    ):
        body.pop()
