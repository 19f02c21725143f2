"""Stage 1 in Python: what surrounds the capture that `triptych._C` does.

Heavy parts (torch, the graph builder) load when something is captured.
"""

from __future__ import annotations

from .controls import disable, graph_break, is_compiling
from .inspection import Captured, capture

__all__ = ["Captured", "capture", "disable", "graph_break", "is_compiling"]
