"""Graphs are copied and pickled as their text and the bytes of their constants."""

from __future__ import annotations

import copyreg
from typing import Any

from . import _C


def parse(text: str, constants: dict[str, bytes]) -> _C.Graph:
    """What pickle and copy call."""
    return _C.Graph.parse(text, constants)


def reduce(graph: _C.Graph) -> tuple[Any, ...]:
    for name, contents in graph.constants.items():
        if contents is None:
            raise TypeError(f"the graph cannot be copied: the bytes of {name!r} are not at hand")
    return parse, (str(graph), graph.constants)


copyreg.pickle(_C.Graph, reduce)
