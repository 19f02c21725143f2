"""Triptych: a compiler for PyTorch programs in three stages.

    compiled = triptych.compile(model)             # or torch.compile(model, backend="triptych")
    graph = triptych.normalize(function, inputs)   # stage 2 alone: a core ATen graph
    program = triptych.generate(graph)             # stage 3 alone: kernels and a program
    triptych.capture(function)(*inputs)            # stage 1 alone: graphs, guards, breaks
    triptych.explain(model)(*inputs)               # what became of a call, and why

Everything but `torch` itself is imported when first used.
"""

from __future__ import annotations

from . import versions

versions.check()

# Modules that share their name with a function are imported here: a first import later would put
# the module in the function's place. All are light; torch._dynamo and llvmlite load when used.
from . import errors, graph_copies  # noqa: E402, F401
from ._C import Graph  # noqa: E402
from .backends import (  # noqa: E402
    list_backends,
    register_backend,
    set_default_backend,
    unregister_backend,
)
from .capture import capture, disable, graph_break, is_compiling  # noqa: E402
from .captured import from_fx  # noqa: E402
from .compile import compile, list_modes, reset  # noqa: E402
from .devices import list_devices, register_device, unregister_device  # noqa: E402
from .explain import explain  # noqa: E402
from .extensions import (  # noqa: E402
    register_lowering,
    register_pass,
    unregister_lowering,
    unregister_pass,
)
from .fx_bridge import to_fx  # noqa: E402
from .generate import generate  # noqa: E402
from .normalize import normalize  # noqa: E402
from .options import configure, list_options  # noqa: E402
from .reports import counters  # noqa: E402

__version__ = versions.VERSION
__all__ = [
    "Graph",
    "__version__",
    "capture",
    "compile",
    "configure",
    "counters",
    "disable",
    "errors",
    "explain",
    "from_fx",
    "generate",
    "graph_break",
    "is_compiling",
    "list_backends",
    "list_devices",
    "list_modes",
    "list_options",
    "normalize",
    "register_backend",
    "register_device",
    "register_lowering",
    "register_pass",
    "reset",
    "set_default_backend",
    "to_fx",
    "unregister_backend",
    "unregister_device",
    "unregister_lowering",
    "unregister_pass",
]
