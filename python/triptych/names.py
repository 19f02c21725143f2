"""Refusing unknown names helpfully."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The message for a name that is not one of `known`, with the closest one when there is any."""
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    if close:
        return f"unknown {kind} {name!r}: did you mean {close[0]!r}?"
    return f"unknown {kind} {name!r}: known are {', '.join(known)}"


def check(kind: str, name: object, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        raise ValueError(unknown(kind, name, known))
