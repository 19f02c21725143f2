"""Hugging Face generation with a compiled forward: few captures, the tokens of eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import triptych


def model(name: str) -> Any:
    import transformers

    torch.manual_seed(0)
    if name == "gpt2":
        gpt2 = transformers.GPT2Config(
            n_layer=2, n_embd=32, n_head=4, vocab_size=99, bos_token_id=0, eos_token_id=0
        )
        return transformers.GPT2LMHeadModel(gpt2).eval()
    llama = transformers.LlamaConfig(
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        vocab_size=99,
    )
    return transformers.LlamaForCausalLM(llama).eval()


@pytest.mark.parametrize(("cache", "captures"), [(None, 3), ("static", 2)])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
@torch.no_grad()
def test_generate(name: str, cache: str | None, captures: int) -> None:
    triptych.reset()
    compiled = model(name)
    tokens = torch.randint(0, 99, (2, 8))
    options: dict[str, Any] = {
        "max_new_tokens": 64 if cache is None else 16,
        "do_sample": False,
        "pad_token_id": 0,
        "eos_token_id": None,
    }
    if cache is not None:
        options["cache_implementation"] = cache
    wanted = compiled.generate(tokens, **options)
    compiled.forward = triptych.compile(
        compiled.forward, backend="eager", options={"capture": "triptych"}
    )
    for _ in range(2):
        assert torch.equal(compiled.generate(tokens, **options), wanted)
    assert triptych.counters()["captures"] == captures
    assert not any(key.startswith("fallback") for key in triptych.counters())
    triptych.reset()
