"""What others add at run time: lowerings of their ops, passes over normalized graphs.

Devices have a registry of their own (`devices.py`); shape rules of an op are its fake kernel in
`torch.library`; decompositions are an argument of `normalize`.
"""

from __future__ import annotations

from collections.abc import Callable

from . import _C, errors, names

Pass = Callable[[_C.Graph], _C.Graph]

_lowerings: dict[str, str] = {}
_passes: dict[str, Pass] = {}


def register_lowering(op: str, expression: str) -> None:
    """Generates code for a pointwise op from outside the op table, as in `mylib.gelu2.default`.

    `expression` is one line over the argument names of the op's schema, as in the table's `expr`
    column (docs/op_table.md). Raises UserError when it does not parse.
    """
    for role, text in (("an op's name", op), ("an expression", expression)):
        if not isinstance(text, str):
            raise TypeError(f"register_lowering: expected {role} as text, found {text!r}")
    if op.count(".") != 2:
        raise errors.UserError(
            f"expected an op as namespace.name.overload (mylib.gelu2.default), found {op!r}"
        )
    _C.LoweringRegistry().add_expression(op, expression)
    _lowerings[op] = expression


def unregister_lowering(op: str) -> None:
    names.check("op", op, _lowerings)
    del _lowerings[op]


def lowerings() -> _C.LoweringRegistry | None:
    """All registered lowerings; None when there are none."""
    if not _lowerings:
        return None
    registry = _C.LoweringRegistry()
    for op, expression in _lowerings.items():
        registry.add_expression(op, expression)
    return registry


def register_pass(name: str, function: Pass) -> None:
    """Runs `function` on each normalized graph that `compile` makes, in order of registration.

    It returns the graph to go on with, which is verified; the dump folder shows it.
    """
    if not isinstance(name, str):
        raise TypeError(f"register_pass: expected a name, found {name!r}")
    if not callable(function):
        raise TypeError(f"pass {name!r}: expected a function of a graph, found {function!r}")
    if name in _passes:
        raise ValueError(f"pass {name!r} is registered already")
    _passes[name] = function


def unregister_pass(name: str) -> None:
    names.check("pass", name, _passes)
    del _passes[name]


def run_passes(graph: _C.Graph, show: Callable[[str, _C.Graph], _C.Graph]) -> _C.Graph:
    """Every registered pass in order; `show` gets each result with the pass's name, and gives the
    graph to go on with."""
    for name, function in _passes.items():
        graph = function(graph)
        if problems := graph.verify():
            raise errors.InternalError(f"after pass {name!r}: {problems[0]}", "extensions.pass")
        graph = show(name, graph)
    return graph
