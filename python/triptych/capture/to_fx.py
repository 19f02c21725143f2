"""Captured graphs as `torch.fx` modules, the form in which backends take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

# An argument as the tracer hands it over: (kind, payload), for "dict" with the keys as a third.
Argument = tuple[Any, ...]


def to_fx(data: dict[str, Any], examples: Sequence[Any]) -> torch.fx.GraphModule:
    """The graph module of a capture; `examples` are the real inputs, in order."""
    graph = torch.fx.Graph()
    inputs: list[torch.fx.Node] = []
    nodes: list[torch.fx.Node] = []

    def load(argument: Argument) -> Any:
        kind, payload = argument[0], argument[1]
        if kind == "node":
            return nodes[payload]
        if kind == "input":
            return inputs[payload]
        if kind == "constant":
            return payload
        items = [load(item) for item in payload]
        if kind == "tuple":
            return tuple(items)
        if kind == "dict":
            return dict(zip(argument[2], items, strict=True))
        return slice(*items) if kind == "slice" else items

    for (name, _, _), example in zip(data["inputs"], examples, strict=True):
        node = graph.placeholder(name)
        node.meta["example_value"] = example
        inputs.append(node)
    for is_method, target, args, kwargs, file, line, path, example in data["nodes"]:
        create = graph.call_method if is_method else graph.call_function
        node = create(
            target,
            tuple(load(argument) for argument in args),
            {key: load(argument) for key, argument in kwargs.items()},
        )
        node.meta["example_value"] = example
        if file:
            node.meta["stack_trace"] = f'  File "{file}", line {line}, in forward\n'
        if path:
            node.meta["nn_module_stack"] = {path: (path, torch.nn.Module)}
        nodes.append(node)
    graph.output(tuple(load(argument) for argument in data["outputs"]))
    return torch.fx.GraphModule(torch.nn.Module(), graph, "Captured")
