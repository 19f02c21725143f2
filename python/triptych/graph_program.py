"""A graph as a Python function: each node's target is called by its public name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from . import _C, errors


def as_function(graph: _C.Graph) -> Callable[..., list[Any]]:
    """A function of the graph's inputs that does what the graph says, on real or traced tensors."""

    def run(*inputs: Any) -> list[Any]:
        return _Run(graph, inputs).outputs()

    return run


@cache
def find(name: str) -> Callable[..., Any]:
    """The function of a target: `aten.add.Tensor`, `torch.nn.functional.relu`."""
    parts = name.split(".")
    if len(parts) == 3 and hasattr(getattr(torch.ops, parts[0], None), parts[1]):
        return getattr(getattr(getattr(torch.ops, parts[0]), parts[1]), parts[2])
    for end in range(len(parts) - 1, 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
            for part in parts[end:]:
                found = getattr(found, part)
        except (ImportError, AttributeError):
            continue
        return found
    raise errors.UnsupportedError(f"no function is called {name}", "normalize.target")


class _Run:
    def __init__(self, graph: _C.Graph, inputs: tuple[Any, ...]):
        self.graph = graph
        self.inputs = inputs
        self.env: dict[int, Any] = {}
        if len(inputs) != len(graph.inputs):
            raise errors.UserError(
                f"{graph.name} takes {len(graph.inputs)} inputs, found {len(inputs)}"
            )
        for declared, given in zip(graph.inputs, inputs, strict=True):
            self.env[declared.value.id] = given
        for node in graph.nodes:
            self.call(node)
        for mutation in graph.mutations:
            if mutation.kind != "data":
                raise errors.UnsupportedError(
                    "a graph that changes the metadata of an input", "normalize.graph"
                )
            inputs[mutation.input].copy_(self.env[mutation.value.id])

    def call(self, node: Any) -> None:
        function = find(node.target)
        values = [self.value(argument) for argument in node.args]
        kwargs = {key: self.value(argument) for key, argument in node.kwargs.items()}
        if isinstance(function, torch._ops.OpOverload):
            declared = function._schema.arguments
            kwargs.update(
                (d.name, v) for d, v in zip(declared, values, strict=True) if d.kwarg_only
            )
            values = [v for d, v in zip(declared, values, strict=True) if not d.kwarg_only]
        result = function(*values, **kwargs)
        if len(node.results) == 1 and not isinstance(function, torch._ops.OpOverload):
            self.env[node.results[0].id] = result
            return
        flat: list[Any] = []
        for part in result if isinstance(result, tuple | list) else (result,):
            flat.extend(part if isinstance(part, tuple | list) else (part,))
        for declared_result, value in zip(node.results, flat, strict=True):
            self.env[declared_result.id] = value

    def value(self, argument: Any) -> Any:
        if isinstance(argument, list | tuple):
            return type(argument)(self.value(item) for item in argument)
        if isinstance(argument, dict):
            return {key: self.value(item) for key, item in argument.items()}
        if isinstance(argument, _C.SymExpr):
            if not argument.is_constant:
                raise errors.UnsupportedError("a graph with symbolic sizes", "normalize.graph")
            return int(argument)
        if isinstance(argument, _C.Value):
            if argument.id not in self.env:
                self.env[argument.id] = self.constant(argument)
            return self.env[argument.id]
        return argument

    def constant(self, value: Any) -> torch.Tensor:
        data = self.graph.constants.get(value.name)
        if data is None:
            raise errors.UnsupportedError(
                f"the constant {value.name} has no bytes", "normalize.graph"
            )
        sizes = [int(size) for size in value.type.sizes]
        if not data:
            return torch.empty(sizes, dtype=value.type.dtype)
        return torch.frombuffer(bytearray(data), dtype=value.type.dtype).reshape(sizes)

    def view(self, base: torch.Tensor, view: Any) -> torch.Tensor:
        sizes, strides = ([int(n) for n in numbers] for numbers in (view.sizes, view.strides))
        return base.as_strided(sizes, strides, int(view.storage_offset))

    def outputs(self) -> list[Any]:
        declared = self.graph.outputs
        made: list[Any] = []
        for output in declared:
            if output.kind == "input":
                made.append(self.inputs[output.index])
            elif output.kind == "view_of_input":
                base = self.inputs[output.index]
                made.append(self.view(base.detach() if output.detached else base, output.view))
            elif output.kind == "literal":
                made.append(self.value(output.literal))
            else:
                made.append(self.value(output.value) if output.kind == "fresh" else None)
        for k, output in enumerate(declared):
            if output.kind == "view_of_output":
                made[k] = self.view(made[output.index], output.view)
            elif output.kind == "same_as":
                made[k] = made[output.index]
        return [value for value, output in zip(made, declared, strict=True) if not output.hidden]
