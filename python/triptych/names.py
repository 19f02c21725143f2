"""Refusing unknown names helpfully."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 20  # names at most in a message


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The message for a name that is not one of `known`, with the closest one when there is any."""
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    if close:
        return f"unknown {kind} {name!r}: did you mean {close[0]!r}?"
    if not known:
        return f"unknown {kind} {name!r}: there is none"
    more = f" and {len(known) - SHOWN} more" if len(known) > SHOWN else ""
    return f"unknown {kind} {name!r}: known are {', '.join(known[:SHOWN])}{more}"


def check(kind: str, name: object, known: Iterable[str]) -> None:
    known = list(known)
    if name not in known:
        raise ValueError(unknown(kind, name, known))
