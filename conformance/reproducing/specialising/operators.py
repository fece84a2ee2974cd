"""Operators, comparisons and conditional expressions."""

# ruff: noqa: SIM102
from __future__ import annotations

import ast
from typing import Any

from conformance.reproducing.specialising.expressions import Expressions
from conformance.reproducing.specialising.judging import computes, is_text, kind_of
from conformance.reproducing.specialising.questions import OPERATORS
from conformance.reproducing.specialising.syntax import assignment, bool_operation, is_pure, negation_of
from conformance.reproducing.values import Code, Function, Instance, Known, Parts, Scope, Value


class Operators(Expressions):
    """Writes operators."""

    def _unaryop_expression(self, node: ast.UnaryOp, scope: Scope) -> Value:
        value = self._expression(node.operand, scope)
        if isinstance(node.op, ast.Not):
            truth = self._truth(value)
            if truth is not None and not (isinstance(value, Code) and not is_pure(value.node)):
                return Known(not truth)
            return Code(negation_of(self.lift(value)))
        if isinstance(value, Known) and isinstance(value.value, int | float):
            operators: Any = {ast.USub: lambda x: -x, ast.UAdd: lambda x: +x, ast.Invert: lambda x: ~x}
            return Known(operators[type(node.op)](value.value))
        return Code(ast.UnaryOp(node.op, self.lift(value)))

    def _binop_expression(self, node: ast.BinOp, scope: Scope) -> Value:
        left, right = self._in_order([node.left, node.right], scope)
        return self._binary(node.op, left, right)

    def _binary(self, operator: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(left, Known) and isinstance(right, Known) and computes(left) and computes(right):
            return Known(OPERATORS[type(operator)](left.value, right.value))
        if isinstance(operator, ast.Mult) and isinstance(left, Code) and isinstance(left.node, ast.List):
            if isinstance(right, Known) and all(isinstance(entry, ast.Constant) for entry in left.node.elts):
                return Code(ast.List(left.node.elts * right.value, ast.Load()))
        if isinstance(operator, ast.Add):
            one, other = self._elements(left), self._elements(right)
            if one is not None and other is not None and not is_text(left) and not is_text(right):
                if any(isinstance(part, Parts | Function | Instance) for part in (*one, *other)):
                    return Parts([*one, *other], tuple if kind_of(left) is tuple else list)
        return Code(ast.BinOp(self.lift(left), operator, self.lift(right)))

    def _boolop_expression(self, node: ast.BoolOp, scope: Scope) -> Value:
        wanted = isinstance(node.op, ast.And)
        value = self._expression(node.values[0], scope)
        for place, following in enumerate(node.values[1:], 1):
            truth = self._truth(value)
            if truth is not None and not (isinstance(value, Code) and not is_pure(value.node)):
                if truth is not wanted:
                    return value
                value = self._expression(following, scope)
                continue
            out: list[ast.stmt] = []
            rest = ast.BoolOp(node.op, node.values[place:]) if len(node.values) - place > 1 else following
            if self._out is None:
                other = self._expression(rest, scope)
            else:
                with self._deeper(out):
                    other = self._expression(rest, scope)
            if out:
                name = self._fresh("holds")
                self._calls[-1].owned[name] = None
                self._assign(name, self.lift(value))
                condition: ast.expr = ast.Name(name, ast.Load())
                out.append(assignment(name, self.lift(other)))
                self._emit(ast.If(condition if wanted else negation_of(condition), out, []))
                return Code(ast.Name(name, ast.Load()))
            if isinstance(other, Known) and isinstance(other.value, bool) and other.value is wanted:
                return value
            return Code(bool_operation(node.op, self.lift(value), self.lift(other)))
        return value

    def _compare_expression(self, node: ast.Compare, scope: Scope) -> Value:
        values = self._in_order([node.left, *node.comparators], scope)
        if len(values) == 2:
            known = self._compared(node.ops[0], values[0], values[1])
            if known is not None:
                return Known(known)
        elif all(isinstance(value, Known) and computes(value) for value in values):
            results = [self._compared(op, a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False)]
            if None not in results:
                return Known(all(results))
        lifted = [self.lift(value) for value in values]
        return Code(ast.Compare(lifted[0], node.ops, lifted[1:]))

    def _ifexp_expression(self, node: ast.IfExp, scope: Scope) -> Value:
        test = self._expression(node.test, scope)
        truth = self._truth(test)
        if truth is not None and not (isinstance(test, Code) and not is_pure(test.node)):
            return self._expression(node.body if truth else node.orelse, scope)
        first: list[ast.stmt] = []
        second: list[ast.stmt] = []
        if self._out is None:
            one, other = self._expression(node.body, scope), self._expression(node.orelse, scope)
        else:
            with self._deeper(first):
                one = self._expression(node.body, scope)
            with self._deeper(second):
                other = self._expression(node.orelse, scope)
        if not first and not second:
            return Code(ast.IfExp(self.lift(test), self.lift(one), self.lift(other)))
        name = self._fresh("value")
        self._calls[-1].owned[name] = None
        first.append(assignment(name, self.lift(one)))
        second.append(assignment(name, self.lift(other)))
        self._emit(ast.If(self.lift(test), first, second))
        return Code(ast.Name(name, ast.Load()))

    def _namedexpr_expression(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self._expression(node.value, scope)
        self._bind(node.target, value, scope)
        return self._expression(ast.Name(node.target.id, ast.Load()), scope)
