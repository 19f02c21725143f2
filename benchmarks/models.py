"""The comparison models: small configurations of real architectures, random weights, seeded
input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Case = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]


def tiny() -> Case:
    return (lambda x, y: torch.relu(x * y + 1).sin()), (torch.randn(64, 64), torch.randn(64, 64))


def mlp() -> Case:
    nn = torch.nn
    layers = (
        nn.Linear(256, 1024),
        nn.GELU(),
        nn.LayerNorm(1024),
        nn.Linear(1024, 256),
        nn.GELU(),
        nn.Linear(256, 10),
    )
    return nn.Sequential(*layers).eval(), (torch.randn(64, 256),)


def gpt2(layers: int = 6) -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_layer=layers,
        n_embd=256,
        n_head=4,
        vocab_size=5000,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    return GPT2LMHeadModel(config).eval(), (torch.randint(0, 5000, (2, 128)),)


def llama() -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=256,
        intermediate_size=688,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=4,
        vocab_size=5000,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    return LlamaForCausalLM(config).eval(), (torch.randint(0, 5000, (2, 128)),)


def bert() -> Case:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=256,
        num_hidden_layers=6,
        num_attention_heads=4,
        intermediate_size=1024,
        vocab_size=5000,
    )
    return BertModel(config).eval(), (torch.randint(0, 5000, (2, 128)),)


def resnet() -> Case:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(depths=[2, 2, 2, 2], layer_type="basic", hidden_sizes=[64, 128, 256, 512])
    return ResNetForImageClassification(config).eval(), (torch.randn(2, 3, 128, 128),)


MODELS: dict[str, Callable[[], Case]] = {
    "mlp": mlp,
    "gpt2": gpt2,
    "llama": llama,
    "bert": bert,
    "resnet": resnet,
}


def build(name: str, **options: int) -> Case:
    """The named model in inference mode and its input, the same in every process."""
    torch.manual_seed(0)
    return {"tiny": tiny, **MODELS}[name](**options)


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
