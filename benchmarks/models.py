"""The comparison models: those of `examples/models.py` in the sizes of the ratio table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from examples import models

Case = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]


def tiny() -> Case:
    return (lambda x, y: torch.relu(x * y + 1).sin()), (torch.randn(64, 64), torch.randn(64, 64))


# Sizes of the comparison, and batch and length (or side) of the input.
SIZES: dict[str, tuple[dict[str, Any], int, int]] = {
    "mlp": ({}, 64, 1),
    "gpt2": ({"layers": 6, "width": 256, "vocabulary": 5000}, 2, 128),
    "llama": ({"layers": 6, "width": 256, "vocabulary": 5000}, 2, 128),
    "bert": ({"layers": 6, "width": 256, "vocabulary": 5000, "head": False}, 2, 128),
    "vit": ({"layers": 6, "width": 256, "side": 128, "patch": 16}, 2, 128),
    "resnet": ({"hidden": (64, 128, 256, 512), "depths": (2, 2, 2, 2)}, 2, 128),
}
MODELS = ("mlp", "gpt2", "llama", "bert", "resnet")  # those of the ratio table


def build(name: str, **options: int) -> Case:
    """The named model in inference mode and its input, the same in every process."""
    if name == "tiny":
        torch.manual_seed(0)
        return tiny()
    sizes, batch, size = SIZES[name]
    case = models.build(name, **{**sizes, **options})
    return case.model, case.inputs(batch, size)


def first_tensor(result: Any) -> torch.Tensor:
    """What errors are checked on: the result itself, or the first field of a model's output."""
    return result if isinstance(result, torch.Tensor) else result[0]


def captured(name: str, **options: int) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """The graph that PyTorch's capture hands over for the model, with its inputs."""
    function, inputs = build(name, **options)
    taken: list[tuple[torch.fx.GraphModule, list[torch.Tensor]]] = []

    def take(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> Callable[..., Any]:
        taken.append((gm, list(example_inputs)))
        return gm.forward

    with torch.no_grad():
        torch.compile(function, backend=take, dynamic=False)(*inputs)
    torch._dynamo.reset()
    if len(taken) != 1:
        raise RuntimeError(f"{name}: captured as {len(taken)} graphs, expected 1")
    return taken[0]
