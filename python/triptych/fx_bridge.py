"""Graphs to and from `torch.fx`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def node_location(node: Node) -> str:
    """The user's "file:line" that made this node: the innermost frame of its trace, "" if none."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return f"{frames[-1][0]}:{frames[-1][1]}" if frames else ""


def captured_text(gm: GraphModule) -> str:
    """The captured graph as Python, one call a line, with source lines."""
    lines = []
    for node in gm.graph.nodes:
        location = node_location(node)
        text = node.format_node() or ""
        lines.append(f"{text}  # {location}" if location else text)
    return "\n".join(lines)
