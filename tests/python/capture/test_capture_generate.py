"""Hugging Face generation with a compiled forward or model: few captures, the tokens of eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import triptych

CAPTURES = {None: 3, "static": 2}  # the prompt, one token, one token after any number of them


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


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("backend", ["triptych", "eager"])
@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
@torch.no_grad()
def test_generate(name: str, cache: str | None, backend: str, whole: bool) -> None:
    triptych.reset()
    generating = model(name)
    tokens = torch.randint(0, 99, (2, 8))
    options: dict[str, Any] = {
        "max_new_tokens": 64,
        "do_sample": False,
        "pad_token_id": 0,
        "eos_token_id": None,
    }
    if cache is not None:
        options["cache_implementation"] = cache
    wanted = generating.generate(tokens, **options)
    ours = {"capture": "triptych"}
    if whole:
        generating = triptych.compile(generating, backend=backend, options=ours)
    else:
        generating.forward = triptych.compile(generating.forward, backend=backend, options=ours)
    for _ in range(2):
        assert torch.equal(generating.generate(tokens, **options), wanted)
    assert triptych.counters()["captures"] == CAPTURES[cache]
    assert not any(key.startswith("fallback") for key in triptych.counters())
    triptych.reset()


@torch.no_grad()
def test_other_prompts_and_batches() -> None:
    triptych.reset()
    generating = model("gpt2")
    options = {"max_new_tokens": 16, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}
    prompts = [torch.randint(0, 99, (batch, length)) for batch, length in ((2, 8), (2, 11), (3, 5))]
    wanted = [generating.generate(prompt, **options) for prompt in prompts]
    run = triptych.compile(generating, options={"capture": "triptych"})
    for _ in range(2):
        for prompt, tokens in zip(prompts, wanted, strict=True):
            assert torch.equal(run.generate(prompt, **options), tokens)
    assert triptych.counters()["captures"] <= 6
    assert not any(key.startswith("fallback") for key in triptych.counters())
    triptych.reset()
