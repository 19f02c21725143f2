"""Texts of normalized graphs, one idea per file. `TRIPTYCH_BLESS=1` rewrites them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from triptych.normalize import normalize_with_report

FOLDER = Path(__file__).parent.parent / "golden" / "normalize"


def linear_gelu(x, w, b):
    return F.gelu(F.linear(x, w, b))


def layer_norm_residual(x, w, b):
    return F.layer_norm(x + x.relu(), (4,), b, w[0]).to(torch.bfloat16)


def row_update(x, w, b):
    x[0].mul_(w[0])
    return x, x.t(), b


def shared_chunks(x, w, b):
    left, right = (x * 2).chunk(2, 1)
    left.add_(1)
    return left, right


def attention(x, w, b):
    q, k, v = x @ w, x @ w.t(), x
    return F.softmax(q @ k.transpose(-2, -1) / 2.0 + b[:, None], -1) @ v


CASES = [
    (linear_gelu, {}),
    (layer_norm_residual, {}),
    (row_update, {}),
    (shared_chunks, {}),
    (attention, {(0, 0): "n"}),
]


@pytest.mark.parametrize(
    ("program", "symbols"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_golden(program, symbols):
    torch.manual_seed(0)
    x, w, b = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4)
    if symbols:
        b = torch.randn(1)
    with torch.no_grad():
        graph, _ = normalize_with_report(program, (x, w, b), symbols=symbols)
    text = graph.text(locations=False)
    path = FOLDER / f"{program.__name__}.txt"
    if os.environ.get("TRIPTYCH_BLESS") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
