"""The tests of `triptych.compile` once more, with our own capture in Dynamo's place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from test_compile import *  # noqa: F403

import triptych


@pytest.fixture(autouse=True)
def our_capture() -> Iterator[None]:
    with triptych.configure(capture="triptych"):
        yield
