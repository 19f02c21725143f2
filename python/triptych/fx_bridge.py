"""Normalized graphs as `torch.fx` modules of ATen calls."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

    from . import _C


def to_fx(graph: _C.Graph) -> GraphModule:
    """A normalized graph as an `fx.GraphModule` of ATen calls with the same effect: mutated inputs
    are copied back at its end, outputs that are views are made as views."""
    from . import _C

    if not isinstance(graph, _C.Graph):
        raise TypeError(f"to_fx: expected a Graph, found {type(graph).__name__}")
    if graph.level == "captured":
        raise ValueError(
            f"to_fx: expected a normalized graph, found the captured {graph.name!r}; what "
            "`triptych.capture(...)` returns has it as one of its `graph_modules`"
        )
    return _ToFx(graph).run()


class _ToFx:
    def __init__(self, graph: _C.Graph):
        import torch

        self.torch = torch
        self.graph = graph
        self.fx = torch.fx.Graph()
        self.root: dict[str, Any] = {}
        self.values: dict[int, Node] = {}
        self.symbols: dict[str, Any] = {}

    def run(self) -> GraphModule:
        placeholders = [self.placeholder(input) for input in self.graph.inputs]
        for name, data in self.graph.constants.items():
            self.constant(name, data)
        for node in self.graph.nodes:
            self.call(node)
        outputs = self.outputs(placeholders)
        self.mutations(placeholders)
        self.fx.output(tuple(outputs))
        return self.torch.fx.GraphModule(self.root, self.fx)

    def aten(self, name: str, overload: str, *args: Any) -> Node:
        function = getattr(getattr(self.torch.ops.aten, name), overload)
        return self.fx.call_function(function, args)

    def placeholder(self, input: _C.Input) -> Node:
        node = self.fx.placeholder(re.sub(r"\W", "_", input.name) or "input")
        value = input.value
        self.values[value.id] = node
        sizes = getattr(value.type, "sizes", None)
        if sizes is None:
            self.define(getattr(value.type, "expr", None), lambda: node)
            return node
        for dim, (size, stride) in enumerate(zip(sizes, value.type.strides, strict=True)):
            self.define(size, partial(self.aten, "sym_size", "int", node, dim))
            self.define(stride, partial(self.aten, "sym_stride", "int", node, dim))
        self.define(
            value.type.storage_offset, lambda: self.aten("sym_storage_offset", "default", node)
        )
        return node

    def define(self, expr: Any, make: Callable[[], Node]) -> None:
        """The first input that shows a bare symbol gives its value."""
        name = str(expr)
        if name in {symbol.name for symbol in self.graph.symbols} and name not in self.symbols:
            self.symbols[name] = make()

    def constant(self, name: str, data: bytes | None) -> None:
        raise NotImplementedError(f"to_fx: graph constant {name!r} cannot be carried over")

    def call(self, node: _C.Node) -> None:
        namespace, name, overload = node.target.split(".")
        function = getattr(getattr(getattr(self.torch.ops, namespace), name), overload)
        kwargs = {key: self.argument(value) for key, value in node.kwargs.items()}
        args, keyword_only = self.split_arguments(function, node.args)
        result = self.fx.call_function(function, args, {**keyword_only, **kwargs})
        returns = function._schema.returns
        if len(returns) == 1 and not isinstance(returns[0].type, self.torch.ListType):
            self.values[node.results[0].id] = result
            return
        for index, value in enumerate(node.results):
            self.values[value.id] = self.fx.call_function(operator.getitem, (result, index))

    def split_arguments(
        self, function: Any, values: Sequence[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A graph's nodes hold all schema arguments in order; Python wants some by keyword."""
        positional, keyword_only = [], {}
        for argument, value in zip(function._schema.arguments, values, strict=False):
            converted = self.argument(value)
            if argument.kwarg_only:
                keyword_only[argument.name] = converted
            else:
                positional.append(converted)
        return tuple(positional), keyword_only

    def argument(self, value: Any) -> Any:
        from . import _C

        if isinstance(value, _C.Value):
            return self.values[value.id]
        if isinstance(value, _C.SymExpr):
            return self.integer(value)
        if isinstance(value, list | tuple):
            return type(value)(self.argument(item) for item in value)
        if isinstance(value, dict):
            return {key: self.argument(item) for key, item in value.items()}
        if isinstance(value, _C.Generator):
            raise NotImplementedError("to_fx: a generator argument cannot be carried over")
        return value

    def integer(self, expr: Any) -> Any:
        """Nodes that compute a symbolic integer from the inputs' sizes."""
        if isinstance(expr, int):
            return expr
        return (
            int(expr) if expr.is_constant else self.arithmetic(ast.parse(str(expr)).body[0].value)
        )

    def arithmetic(self, tree: Any) -> Any:
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.Name):
            return self.symbols[tree.id]
        if isinstance(tree, ast.UnaryOp):
            return self.fx.call_function(operator.neg, (self.arithmetic(tree.operand),))
        if isinstance(tree, ast.BinOp):
            function = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
            operands = (self.arithmetic(tree.left), self.arithmetic(tree.right))
            return self.fx.call_function(function[type(tree.op)], operands)
        assert isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name)
        functions = {
            "floordiv": operator.floordiv,
            "mod": operator.mod,
            "min": self.torch.sym_min,
            "max": self.torch.sym_max,
        }
        return self.fx.call_function(
            functions[tree.func.id], tuple(self.arithmetic(item) for item in tree.args)
        )

    def outputs(self, placeholders: list[Node]) -> list[Any]:
        made: list[Any] = []
        for output in self.graph.outputs:
            made.append(self.output(output, placeholders, made))
        return [
            node for node, output in zip(made, self.graph.outputs, strict=True) if not output.hidden
        ]

    def output(self, output: _C.Output, placeholders: list[Node], made: list[Any]) -> Any:
        if output.kind == "fresh":
            return self.values[output.value.id]
        if output.kind == "input":
            return placeholders[output.index]
        if output.kind == "same_as":
            return made[output.index]
        if output.kind == "literal":
            return self.argument(output.literal)
        base = (placeholders if output.kind == "view_of_input" else made)[output.index]
        if output.detached:
            base = self.aten("detach", "default", base)
        return self.restrided("as_strided", base, output.view)

    def restrided(self, name: str, base: Node, view: _C.TensorType) -> Node:
        sizes = [self.integer(size) for size in view.sizes]
        strides = [self.integer(stride) for stride in view.strides]
        offset = self.integer(view.storage_offset)
        return self.aten(name, "default", base, sizes, strides, offset)

    def mutations(self, placeholders: list[Node]) -> None:
        for mutation in self.graph.mutations:
            target = placeholders[mutation.input]
            if mutation.kind == "metadata":
                self.restrided("as_strided_", target, mutation.metadata)
            else:
                self.aten("copy_", "default", target, self.values[mutation.value.id])
