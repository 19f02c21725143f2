"""What this build of the extension module serves: one torch minor, one CPython minor."""

from __future__ import annotations

import sys

VERSION = "0.1.0"

_REBUILD = (
    "Rebuild it against the torch that is installed: in a checkout `./dev setup`, elsewhere "
    "`pip install --no-build-isolation --force-reinstall --no-deps triptych` (or the path of its "
    "source)."
)


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def check() -> None:
    """Raises ImportError before the extension module is loaded when it cannot work here: loading it
    first would fail with an undefined symbol, or not at all and crash later."""
    import torch

    try:
        from . import _build_info
    except ImportError:
        raise ImportError(f"triptych: the extension module was not built. {_REBUILD}") from None
    for what, built, found in (
        ("torch", _build_info.TORCH, minor(torch.__version__)),
        ("Python", _build_info.PYTHON, minor(sys.version)),
    ):
        if built != found:
            raise ImportError(f"triptych was built for {what} {built}, found {found}. {_REBUILD}")
