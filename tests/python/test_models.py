"""Whole models, compiled through the public entry, give eager's answer."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch._dynamo
from torch.utils._pytree import tree_leaves, tree_map

import models
import triptych
from numerics import check_equal

DTYPES = (torch.float32, torch.bfloat16)


def outputs(result: Any) -> list[torch.Tensor]:
    """The tensors of a model's result, which may be one of transformers' output classes."""
    values = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def convert(inputs: Any, dtype: torch.dtype) -> Any:
    return tree_map(lambda x: x.to(dtype) if x.is_floating_point() else x, inputs)


def compare(
    case: models.Case, dtype: torch.dtype, inputs: tuple[torch.Tensor, ...], compiled: Any
) -> None:
    """Half and bfloat16 models are judged by the reference rule against the float32 model."""
    inputs = convert(inputs, dtype)
    with torch.no_grad():
        actual = outputs(compiled(*inputs))
        expected = outputs(case.model(*inputs))

        def reference() -> list[torch.Tensor]:
            wide = torch.float64 if dtype is torch.float32 else torch.float32
            model = copy.deepcopy(case.model).to(wide)
            return [x.to(torch.float64) for x in outputs(model(*convert(inputs, wide)))]

        check_equal(actual, expected, reference)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
@pytest.mark.parametrize("name", sorted(models.BUILDERS))
# Dynamo leaves recurrent modules to eager unless it is told that a backend can take them.
@torch._dynamo.config.patch(allow_rnn=True)
def test_model(name: str, dtype: torch.dtype) -> None:
    case = models.build(name)
    case.model.to(dtype)
    torch._dynamo.reset()
    with triptych.configure(strict=True):
        compiled = triptych.compile(case.model)
    before = triptych.counters()
    for size in case.sizes:
        for batch in (1, 4):
            torch.manual_seed(batch)
            compare(case, dtype, case.inputs(batch, size), compiled)
    after = triptych.counters()
    assert after["graphs"] > before.get("graphs", 0), "nothing was compiled"
    fallbacks = {
        name: after[name] - before.get(name, 0)
        for name in after
        if name.startswith("fallback.") and after[name] > before.get(name, 0)
    }
    assert not fallbacks, f"graphs of {name} ran eagerly: {fallbacks}"


def test_updated_weights_are_seen() -> None:
    """Parameters are passed at each call, not baked in."""
    case = models.build("mlp")
    compiled = triptych.compile(case.model)
    inputs = case.inputs(4, 1)
    with torch.no_grad():
        compiled(*inputs)
        for parameter in case.model.parameters():
            parameter.mul_(1.5).add_(0.01)
        check_equal(compiled(*inputs), case.model(*inputs))
