"""What tests of our own capture begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import triptych


@pytest.fixture
def without_gradients() -> Iterator[None]:
    """A process that has compiled nothing yet, in `no_grad`."""
    triptych.reset()
    torch.manual_seed(0)
    with torch.no_grad():
        yield
    assert not torch.compiler.is_compiling(), "a capture has left its mark"


@pytest.fixture
def nothing_compiled() -> Iterator[None]:
    triptych.reset()
    yield
    triptych.reset()
