"""Runs a graph module node by node, so that the tracer knows the node at each op.

Running the nodes also spares the Python function that torch.fx would write and compile for the
graph, which costs more than the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from . import out_overlap
from .captured import module_path, node_location
from .number_inputs import Number

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

_PLAIN = frozenset({int, float, bool, str, type(None), complex, torch.dtype, torch.device})


class GraphModuleRunner:
    """The graph module as a function of its inputs; `position[0]` is the index of the node that
    runs."""

    def __init__(self, gm: GraphModule, numbers: Mapping[int, float]):
        self.gm = gm
        self.numbers = {i: Number(value) for i, value in numbers.items()}
        self.nodes: list[Node] = list(gm.graph.nodes)
        self.position = [-1]

    def run(self, *inputs: Any) -> Any:
        """What `gm.forward(*inputs)` returns."""
        position = self.position
        tensors = enumerate(self.gm.graph.process_inputs(*inputs))
        given = (self.numbers.get(i, value) for i, value in tensors)
        values: dict[Node, Any] = {}
        node_type = torch.fx.Node

        def load(argument: Any) -> Any:
            kind = type(argument)
            if kind is node_type:
                return values[argument]
            if kind in _PLAIN:
                return argument
            return torch.fx.node.map_arg(argument, values.__getitem__)

        for index, node in enumerate(self.nodes):
            position[0] = index
            op = node.op
            if op == "placeholder":
                values[node] = next(given, *node.args)
            elif op == "get_attr":
                values[node] = _attribute(self.gm, str(node.target))
            elif op == "output":
                return self.gm.graph.process_outputs(load(node.args[0]))
            else:
                args = [load(argument) for argument in node.args]
                kwargs = {key: load(argument) for key, argument in node.kwargs.items()}
                if kwargs.get("out") is not None:
                    out_overlap.refuse(args, kwargs["out"])
                values[node] = self._function(node, args)(*args, **kwargs)
        raise RuntimeError("a graph without an output node")

    def _function(self, node: Node, args: list[Any]) -> Callable[..., Any]:
        """What a node calls; a method's object is taken off its arguments."""
        if node.op == "call_function":
            assert callable(node.target)
            return node.target
        if node.op == "call_method":
            method: Callable[..., Any] = getattr(args.pop(0), str(node.target))
            return method
        return self.gm.get_submodule(str(node.target))

    def resolve(self, index: int) -> tuple[str, int, str, str]:
        """(file, line, module path, node name) of the user's code, empty where unknown."""
        node = self.nodes[index]
        file, _, number = node_location(node).rpartition(":")
        return (file, int(number or 0), module_path(node), node.name)


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module
