"""Whole models, captured without a break: the graph, run eagerly and compiled, equals the model."""

from __future__ import annotations

import functools

import capture_oracle
import pytest
import torch
from capture_oracle import Captured

import models
import triptych
from triptych.backend import triptych as our_backend

compare = functools.partial(capture_oracle.compare, by_attributes=True)


@pytest.mark.parametrize("name", ["mlp", "gpt2", "llama", "bert", "vit", "resnet", "encoder"])
@torch.no_grad()
def test_model(name: str) -> None:
    if name == "encoder":
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, norm_first=True)
        encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        model, inputs = encoder.eval(), (torch.randn(2, 8, 32),)
    else:
        torch.manual_seed(0)
        case = models.build(name)
        model, inputs = case.model, case.inputs(2, case.sizes[0])
    wanted = model(*inputs)
    captured = Captured(model, *inputs)
    assert captured.data["stop"] is None
    compare(captured(*inputs), wanted, 0.0)
    captured.run_graph = our_backend(captured.gm, captured.examples)
    compare(captured(*inputs), wanted, 2e-4)


@torch.no_grad()
def test_new_cache_is_returned() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        vocab_size=99,
    )
    model = LlamaForCausalLM(config).eval()
    tokens = torch.randint(0, 99, (2, 8))
    captured = Captured(model, tokens)
    wanted, got = model(tokens), captured(tokens)
    compare(got, wanted, 0.0)
    assert got.past_key_values.get_seq_length() == 8
    assert got.past_key_values is not captured(tokens).past_key_values


@pytest.mark.parametrize("name", ["llama", "bert"])
@torch.no_grad()
def test_compiled_model(name: str) -> None:
    """Also where a decorator takes the module itself among `*args`."""
    triptych.reset()
    case = models.build(name)
    compiled = triptych.compile(case.model, backend="eager", options={"capture": "triptych"})
    inputs = case.inputs(2, case.sizes[0])
    for _ in range(2):
        compare(compiled(*inputs), case.model(*inputs), 0.0)
    assert triptych.counters() == {"captures": 1}
    triptych.reset()


@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning")
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")
@pytest.mark.parametrize("mask_check", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
@torch.no_grad()
def test_transformer_encoder_with_padding(norm_first: bool, mask_check: bool) -> None:
    """Eager takes a fast path through nested tensors, which leaves zeros where the padding is; the
    module takes it while compiling only where it need not look at the mask for that."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=norm_first)
    encoder = torch.nn.TransformerEncoder(layer, 2, mask_check=mask_check).eval()
    x = torch.randn(3, 5, 16)
    padding = torch.arange(5) >= torch.tensor([[5], [3], [2]])
    wanted = encoder(x, src_key_padding_mask=padding)
    triptych.reset()
    run = triptych.compile(encoder, options={"capture": "triptych"})
    for _ in range(3):
        found = run(x, src_key_padding_mask=padding)
        torch.testing.assert_close(found[~padding], wanted[~padding])
    if norm_first or not mask_check:
        torch.testing.assert_close(found, wanted)
    triptych.reset()
