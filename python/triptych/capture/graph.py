"""A captured graph as an `fx.GraphModule`, built node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.fx._lazy_graph_module as lazy
from torch.fx import GraphModule, Node

from .. import reports
from ..captured import FACTS, HINTS, PARAMETER, ObjectFacts, SizeFacts, TensorFacts

SYMBOLS = "triptych_symbols"  # of an input: [(dimension, name)], dimension 0 for an integer
SOURCE = "triptych_source"  # of an input: "L['self'].layers[0].weight"


class GraphBuilder:
    """`_C` calls `input`, `node` and `output` in the order of the program."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()
        self.nodes = 0

    def input(
        self, name: str, source: str, example: Any, symbols: Sequence[tuple[int, str]]
    ) -> Node:
        node = self.graph.placeholder(name)
        node.meta[SOURCE] = source
        node.meta[FACTS] = facts_of(example)
        if symbols:
            node.meta[SYMBOLS] = [(max(dimension, 0), name) for dimension, name in symbols]
        return node

    def node(
        self,
        is_method: bool,
        target: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        file: str,
        line: int,
        module_path: str,
        example: Any,
    ) -> Node:
        kind = "call_method" if is_method else "call_function"
        node = self.graph.create_node(kind, target, args, kwargs)
        self.nodes += 1
        node.meta[FACTS] = facts_of(example)
        if file:
            node.meta["stack_trace"] = f'File "{file}", line {line}, in forward'
        if module_path:
            node.meta["nn_module_stack"] = {module_path: (module_path, torch.nn.Module)}
        return node

    def specialized(self, code: str) -> None:
        """A size was to be symbolic, and the graph is right for its value only."""
        reports.count(f"specialized.{code}")

    def output(self, values: list[Any]) -> None:
        self.graph.output(tuple(values))

    def graph_module(self, inputs: Sequence[Any]) -> GraphModule:
        """`inputs` are the values that the graph was captured for."""
        with lazy._use_lazy_graph_module(True):
            module: GraphModule = lazy._make_graph_module(torch.nn.Module(), self.graph)
        hints = module.meta[HINTS] = {}
        for node, value in zip(self.graph.nodes, inputs, strict=False):  # placeholders come first
            node.meta[PARAMETER] = isinstance(value, torch.nn.Parameter)
            for dimension, name in node.meta.get(SYMBOLS, ()):
                is_tensor = isinstance(value, torch.Tensor)
                hints[name] = value.shape[dimension] if is_tensor else int(value)
        return module


def facts_of(example: Any) -> Any:
    """What a captured graph says of a value: the fake that stands for it dies with the trace."""
    if isinstance(example, torch.Tensor):
        return TensorFacts.of(example)
    if isinstance(example, torch.SymInt):
        return SizeFacts(str(example))
    return ObjectFacts(type(example).__name__)
