"""`TRIPTYCH_LOGS=graph,guards,breaks,recompiles`: what happens, printed to standard error."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable

from . import names

TOPICS = ("breaks", "graph", "guards", "recompiles")


@functools.cache
def enabled() -> frozenset[str]:
    """The topics that the environment asks for. Raises ValueError for unknown ones."""
    asked = [topic.strip() for topic in os.environ.get("TRIPTYCH_LOGS", "").split(",")]
    chosen = [topic for topic in asked if topic]
    for topic in chosen:
        names.check("topic in TRIPTYCH_LOGS:", topic, (*TOPICS, "all"))
    return frozenset(TOPICS if "all" in chosen else chosen)


def log(topic: str, text: Callable[[], str]) -> None:
    if topic in enabled():
        print(f"[triptych:{topic}] {text()}", file=sys.stderr)
