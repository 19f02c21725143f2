"""Graphs that turn inference mode on or off. What is made in that mode is a tensor of another kind,
which autograd refuses, so the mode belongs to what a graph means.

A program holds no modes. A graph that is in inference mode from its first op to its last, as that
of a decorated function is, is compiled and called inside the mode; another one runs eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.grad_mode import _enter_inference_mode, _exit_inference_mode

if TYPE_CHECKING:
    from torch.fx import GraphModule, Node

_MODE_CALLS = (_enter_inference_mode, _exit_inference_mode)


def _calls(gm: GraphModule) -> list[Node]:
    return [n for n in gm.graph.nodes if n.op not in ("placeholder", "get_attr", "output")]


def changes(gm: GraphModule) -> bool:
    """Whether the graph turns the mode, as it is now, on or off."""
    now = torch.is_inference_mode_enabled()
    return any(n.target is _enter_inference_mode and n.args[0] is not now for n in _calls(gm))


def covers(gm: GraphModule) -> bool:
    """Whether all that the graph computes stands inside of one inference mode."""
    calls = _calls(gm)
    modes = [i for i, node in enumerate(calls) if node.target in _MODE_CALLS]
    return modes == [0, len(calls) - 1] and calls[0].args[0] is True


def called_inside(run: Callable[..., Any]) -> Callable[..., Any]:
    def call(*inputs: Any) -> Any:
        with torch.inference_mode():
            return run(*inputs)

    return call


def compiled_inside(
    compile: Callable[[Sequence[Any]], Callable[..., Any]], inputs: Sequence[Any]
) -> Callable[..., Any]:
    with torch.inference_mode():
        return called_inside(compile(inputs))
