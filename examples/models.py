"""Small models with random weights, each with a function that makes seeded inputs.

Used by the demo, the tests and the benchmarks. `transformers` is imported when first used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

Inputs = Callable[[int, int], tuple[torch.Tensor, ...]]


@dataclass
class Case:
    """A model in eval mode; `inputs(batch, size)` with the sizes worth testing."""

    model: nn.Module
    inputs: Inputs
    sizes: tuple[int, ...]


def tokens(vocabulary: int) -> Inputs:
    return lambda batch, length: (torch.randint(0, vocabulary, (batch, length)),)


def images(channels: int = 3) -> Inputs:
    return lambda batch, side: (torch.randn(batch, channels, side, side),)


def sequences(width: int) -> Inputs:
    return lambda batch, length: (torch.randn(batch, length, width),)


def gpt2(layers: int = 2, width: int = 64, heads: int = 4, vocabulary: int = 500) -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        n_layer=layers,
        n_embd=width,
        n_head=heads,
        vocab_size=vocabulary,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return Case(GPT2LMHeadModel(config), tokens(vocabulary), (16, 33))


def llama(layers: int = 2, width: int = 64, heads: int = 4, vocabulary: int = 500) -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=width,
        intermediate_size=width * 43 // 16,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        vocab_size=vocabulary,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    return Case(LlamaForCausalLM(config), tokens(vocabulary), (16, 33))


def llama_grouped() -> Case:
    """Fewer key and value heads than query heads."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=300,
        use_cache=False,
        bos_token_id=0,
        eos_token_id=0,
    )
    return Case(LlamaForCausalLM(config), tokens(300), (16, 33))


def bert(
    layers: int = 2, width: int = 64, heads: int = 4, vocabulary: int = 500, head: bool = True
) -> Case:
    from transformers import BertConfig, BertForMaskedLM, BertModel

    config = BertConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        vocab_size=vocabulary,
    )
    model = BertForMaskedLM(config) if head else BertModel(config)
    return Case(model, tokens(vocabulary), (16, 33))


def vit(layers: int = 2, width: int = 64, heads: int = 4, side: int = 32, patch: int = 8) -> Case:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=4 * width,
        image_size=side,
        patch_size=patch,
    )
    return Case(ViTForImageClassification(config), images(), (side,))


def resnet(
    hidden: tuple[int, ...] = (8, 16, 24, 32), depths: tuple[int, ...] = (1, 1, 1, 1)
) -> Case:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        depths=list(depths),
        layer_type="basic",
        embedding_size=hidden[0],
        hidden_sizes=list(hidden),
    )
    return Case(ResNetForImageClassification(config), images(), (32, 48))


def transformer_encoder() -> Case:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return Case(model, sequences(32), (8, 17))


class Recurrent(nn.Module):
    def __init__(self, kind: type[nn.RNNBase]):
        super().__init__()
        self.recurrent = kind(16, 24, num_layers=2, batch_first=True)
        self.head = nn.Linear(24, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.recurrent(x)
        return self.head(torch.tanh(states)).softmax(-1)


def lstm() -> Case:
    return Case(Recurrent(nn.LSTM), sequences(16), (5, 12))


def gru() -> Case:
    return Case(Recurrent(nn.GRU), sequences(16), (5, 12))


class Down(nn.Module):
    def __init__(self, before: int, after: int):
        super().__init__()
        self.conv = nn.Conv2d(before, after, 3, padding=1)
        self.norm = nn.GroupNorm(4, after)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(self.norm(self.conv(x)))


class UNet(nn.Module):
    """Two levels down, two up, with skips, group norm and both kinds of interpolation."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = Down(3, 16)
        self.down = nn.ModuleList([Down(16, 24), Down(24, 32)])
        self.up = nn.ModuleList([Down(32 + 24, 24), Down(24 + 16, 16)])
        self.leave = nn.Conv2d(16, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        skips = []
        for block in self.down:
            skips.append(x)
            x = block(nn.functional.avg_pool2d(x, 2))
        for block, mode in zip(self.up, ("nearest", "bilinear"), strict=True):
            skip = skips.pop()
            x = nn.functional.interpolate(x, size=skip.shape[-2:], mode=mode)
            x = block(torch.cat([x, skip], dim=1))
        return self.leave(x)


def unet() -> Case:
    return Case(UNet(), images(), (16, 24))


class MixerBlock(nn.Module):
    def __init__(self, patches: int, width: int):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.tokens = mlp_block(patches, 2 * patches)
        self.channels = mlp_block(width, 2 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norms[1](x))


def mlp_block(width: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width))


class MlpMixer(nn.Module):
    def __init__(self, width: int = 32, side: int = 32, patch: int = 8):
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, stride=patch)
        patches = (side // patch) ** 2
        self.blocks = nn.Sequential(*(MixerBlock(patches, width) for _ in range(2)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(dim=1))


def mlp_mixer() -> Case:
    return Case(MlpMixer(), images(), (32,))


def mlp(width: int = 256, hidden: int = 1024, classes: int = 10) -> Case:
    model = nn.Sequential(
        nn.Linear(width, hidden),
        nn.GELU(),
        nn.LayerNorm(hidden),
        nn.Linear(hidden, width),
        nn.GELU(),
        nn.Linear(width, classes),
    )
    return Case(model, lambda batch, _: (torch.randn(batch, width),), (1,))


BUILDERS: dict[str, Callable[..., Case]] = {
    "gpt2": gpt2,
    "llama": llama,
    "llama_grouped": llama_grouped,
    "bert": bert,
    "vit": vit,
    "resnet": resnet,
    "transformer_encoder": transformer_encoder,
    "lstm": lstm,
    "gru": gru,
    "unet": unet,
    "mlp_mixer": mlp_mixer,
    "mlp": mlp,
}


def build(name: str, **sizes: Any) -> Case:
    """A model of fixed weights, in eval mode."""
    torch.manual_seed(0)
    case = BUILDERS[name](**sizes)
    case.model.eval()
    return case
