"""Which names stand for things that hold nothing."""

from __future__ import annotations

import ast

from conformance.reproducing.walking import walk

#: Calls that give things that hold nothing.
_LIGHT = {
    *("Stream", "current_stream", "default_stream", "memory_allocated", "memory_reserved", "bool", "int", "str", "len"),
    *("is_current_stream_capturing", "data_ptr", "Event", "float", "repr", "type", "numel", "graph_pool_handle"),
    *("pool", "element_size", "sorted", "isinstance", "getattr", "item", "any", "all", "sum", "raw_cuda_graph"),
    *("runtime_call", "caught", "range", "nodes_of", "edges_of", "memset_parameters"),
}


#: Those of torch that make a tensor on the host.
_ON_HOST = {"full", "tensor", "arange", "zeros", "ones", "empty", "linspace"}


def light_names(whole: ast.Module) -> set[str]:
    """Names of things that hold nothing."""
    values: dict[str, list[ast.expr]] = {}
    for node in walk(whole):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.For | ast.comprehension):
            targets, value = [node.target], node.iter
        for target in targets:
            for part in walk(target):
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
