"""Where a line of a graph module's generated code comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx._lazy_graph_module import _LazyGraphModule

from .captured import module_path, node_location

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node


class NodeLines:
    """From a line of a graph module's generated code to the node that it runs."""

    def __init__(self, gm: GraphModule):
        # Dynamo's graph modules write their code when first called; lines exist only then.
        _LazyGraphModule.force_recompile(gm)
        self.code = gm.forward.__code__
        self.first = getattr(gm, "_prologue_start", 0) or 0
        self.lines = getattr(gm, "_lineno_map", None) or {}
        self.gm = gm
        self.nodes: list[Node] = []

    def resolve(self, code: Any, line: int) -> tuple[str, int, str, str]:
        """(file, line, module path, node name) of the user's code, empty where unknown."""
        index = self.lines.get(line - self.first) if code is self.code else None
        if index is None:
            return (code.co_filename, line, "", "")
        if not self.nodes:
            self.nodes = list(self.gm.graph.nodes)
        node = self.nodes[index]
        file, _, number = node_location(node).rpartition(":")
        return (file, int(number or 0), module_path(node), node.name)
