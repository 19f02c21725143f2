"""Toolchains: text of a writer in, addresses of its functions out.

A toolchain is a function `compile(text, entries, externals, options) -> Library`. The registry of
devices names one for each writer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Library:
    """Compiled functions: their addresses by name, valid as long as this object lives."""

    addresses: Mapping[str, int]
    keep_alive: Any


class Toolchain(Protocol):
    def __call__(
        self,
        text: str,
        entries: Sequence[str],
        externals: Sequence[str],
        options: Mapping[str, Any] | None = None,
    ) -> Library: ...


class ToolchainError(RuntimeError):
    """The text did not compile or a function that it calls was not found."""
