"""`triptych.compile` with our own capture, whatever the default is."""

from __future__ import annotations

from typing import Any

import triptych


def compiled(function: Any, **more: Any) -> Any:
    options = {"capture": "triptych", **more.pop("options", {})}
    return triptych.compile(function, options=options, **more)
