"""Runs a normalized graph by torch's own operators: what the graph says, as plainly as possible."""

from __future__ import annotations

from typing import Any

import torch

import triptych


class Interpreter:
    def __init__(self, graph: triptych.Graph):
        self.graph = graph
        self.env: dict[int, Any] = {}
        self.symbols: dict[str, int] = {}

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs; mutations are applied to the inputs, as eager does."""
        assert len(inputs) == len(self.graph.inputs), (len(inputs), len(self.graph.inputs))
        for declared, given in zip(self.graph.inputs, inputs, strict=True):
            self.bind(declared, given)
        self.check_guards()
        for node in self.graph.nodes:
            self.run_node(node)
        for mutation in self.graph.mutations:
            target = inputs[mutation.input]
            if mutation.kind == "data":
                target.copy_(self.env[mutation.value.id])
        for mutation in self.graph.mutations:
            if mutation.kind == "metadata":
                target = inputs[mutation.input]
                target.data = self.strided(target, mutation.metadata)
        return self.outputs(inputs)

    def bind(self, declared: Any, given: Any) -> None:
        value = declared.value
        self.env[value.id] = given
        if isinstance(given, torch.Tensor):
            for expr, size in zip(value.type.sizes, given.shape, strict=True):
                self.bind_symbol(expr, size)
        else:
            self.bind_symbol(value.type.expr, given)

    def bind_symbol(self, expr: Any, size: int) -> None:
        names = {symbol.name for symbol in self.graph.symbols}
        if str(expr) in names:
            assert self.symbols.setdefault(str(expr), size) == size
        else:
            assert self.number(expr) == size, (str(expr), size)

    def check_guards(self) -> None:
        for guard in self.graph.guards:
            left, right = self.number(guard.left), self.number(guard.right)
            kind = str(guard)
            holds = {
                "==": left == right, "!=": left != right, "<": left < right, "<=": left <= right
            }  # fmt: skip
            operator = next(op for op in ("==", "!=", "<=", "<") if op in kind)
            if not holds[operator]:
                raise GuardFailed(kind)

    def number(self, expr: Any) -> int:
        return expr if isinstance(expr, int) else expr.evaluate(self.symbols)

    def strided(self, base: torch.Tensor, view: Any) -> torch.Tensor:
        sizes = [self.number(s) for s in view.sizes]
        strides = [self.number(s) for s in view.strides]
        return base.as_strided(sizes, strides, self.number(view.storage_offset))

    def run_node(self, node: Any) -> None:
        namespace, name, overload = node.target.split(".")
        function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        arguments = [self.value(argument) for argument in node.args]
        args, kwargs = [], {}
        for declared, argument in zip(function._schema.arguments, arguments, strict=True):
            if declared.kwarg_only:
                kwargs[declared.name] = argument
            else:
                args.append(argument)
        result = function(*args, **kwargs)
        flat: list[Any] = []
        for part in result if isinstance(result, (tuple, list)) else (result,):
            flat.extend(part if isinstance(part, (tuple, list)) else (part,))
        assert len(flat) == len(node.results)
        for declared, got in zip(node.results, flat, strict=True):
            self.check(node, declared.type, got)
            self.env[declared.id] = got

    def check(self, node: Any, declared: Any, got: Any) -> None:
        """The graph's metadata is what the operator really gives."""
        if not isinstance(got, torch.Tensor):
            return
        sizes = tuple(self.number(s) for s in declared.sizes)
        strides = tuple(self.number(s) for s in declared.strides)
        assert got.dtype == declared.dtype, f"{node.target}: {got.dtype}, graph says {declared}"
        assert tuple(got.shape) == sizes, f"{node.target}: {got.shape}, graph says {sizes}"
        if got.numel() > 0:
            real = [s for s, n in zip(got.stride(), got.shape, strict=True) if n > 1]
            said = [s for s, n in zip(strides, got.shape, strict=True) if n > 1]
            assert real == said, f"{node.target}: strides {got.stride()}, graph says {strides}"

    def value(self, argument: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return [self.value(item) for item in argument]
        if type(argument).__name__ == "SymExpr":
            return self.number(argument)
        if type(argument).__name__ == "Value":
            if argument.id not in self.env:
                self.env[argument.id] = self.constant(argument)
            return self.env[argument.id]
        return argument

    def constant(self, value: Any) -> torch.Tensor:
        data = self.graph.constants[value.name]
        sizes = [int(size) for size in value.type.sizes]
        if not data:
            return torch.empty(sizes, dtype=value.type.dtype)
        return torch.frombuffer(bytearray(data), dtype=value.type.dtype).reshape(sizes)

    def outputs(self, inputs: tuple[Any, ...]) -> list[Any]:
        declared = self.graph.outputs
        made: list[Any] = [None] * len(declared)
        for k, output in enumerate(declared):
            if output.kind == "fresh":
                made[k] = self.value(output.value)
            elif output.kind == "input":
                made[k] = inputs[output.index]
            elif output.kind == "view_of_input":
                made[k] = self.strided(inputs[output.index], output.view)
            elif output.kind == "literal":
                made[k] = self.value(output.literal)
        for k, output in enumerate(declared):
            if output.kind == "view_of_output":
                made[k] = self.strided(made[output.index], output.view)
            elif output.kind == "same_as":
                made[k] = made[output.index]
        return [value for value, output in zip(made, declared, strict=True) if not output.hidden]


class GuardFailed(Exception):
    pass
