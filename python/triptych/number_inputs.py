"""Python floats that Dynamo hands over as 0-d tensors, as it does with dynamic sizes.

The graph takes the number out again by `item()`. A variant is compiled for the numbers it met, and
checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import errors

if TYPE_CHECKING:
    from torch.fx import GraphModule


class Number:
    """What a graph sees in the tensor's place."""

    def __init__(self, value: float):
        self.value = value

    def item(self) -> float:
        return self.value


def find(gm: GraphModule, inputs: Sequence[Any]) -> dict[int, float]:
    """The inputs, by position, that are read by `item()` alone, and their values."""
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    return {
        i: value.item()
        for i, (node, value) in enumerate(zip(placeholders, inputs, strict=True))
        if isinstance(value, torch.Tensor)
        and value.dim() == 0
        and value.dtype == torch.float64
        and node.users
        and all(user.op == "call_method" and user.target == "item" for user in node.users)
    }


def checked(run: Callable[..., Any], numbers: Mapping[int, float]) -> Callable[..., Any]:
    """`run`, for inputs that hold these numbers; raises before anything has run for others."""
    expected = [(i, value.hex()) for i, value in numbers.items()]  # tells zeros apart, not NaNs

    def call(*inputs: Any) -> Any:
        for i, value in expected:
            if inputs[i].item().hex() != value:
                raise errors.UserError(
                    f"input {i} is another number than this variant was made for", "runtime.guard"
                )
        return run(*inputs)

    return call
