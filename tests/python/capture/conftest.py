"""What tests of our own capture begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import triptych


@pytest.fixture
def without_gradients(inference: None) -> Iterator[None]:
    """As `inference`; a capture leaves no mark."""
    yield
    assert not torch.compiler.is_compiling(), "a capture has left its mark"


@pytest.fixture
def nothing_compiled() -> Iterator[None]:
    triptych.reset()
    yield
    triptych.reset()
