"""What is different in Python while a function is captured."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from ..leak_guard import no_data
from ..normalize import compiling, default_decomposition, one_at_a_time

__all__ = ["default_decomposition", "open"]


def open() -> Callable[[], None]:
    """Begins it; what is returned ends it. Another thread that captures or traces is waited for:
    each puts state of the process back as it found it."""
    stack = ExitStack()
    stack.enter_context(one_at_a_time)
    stack.enter_context(compiling())
    stack.enter_context(no_data())
    return stack.close
