"""C++ text to a shared library, by the system's compiler ($CXX, else c++, g++ or clang++).

Text that was compiled before in this process is not compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from . import Library, ToolchainError

FLAGS = (
    "-std=c++20",
    "-O2",
    "-march=native",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fPIC",
    "-shared",
)

_compiled: dict[str, Library] = {}


def compiler() -> str:
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (path := shutil.which(name)):
            return path
    raise ToolchainError("no C++ compiler was found: set CXX, or use the llvm writer")


def _build(text: str, flags: Sequence[str]) -> ctypes.CDLL:
    # A loaded library needs its file no longer, so the folder goes at once.
    with tempfile.TemporaryDirectory(prefix="triptych-") as folder:
        source = os.path.join(folder, "kernels.cpp")
        library = os.path.join(folder, "kernels.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run(
            [compiler(), *flags, "-o", library, source], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ToolchainError(f"{compiler()} failed:\n{done.stderr}")
        return ctypes.CDLL(library)


def compile(  # noqa: A001 - the toolchain interface's name
    text: str,
    entries: Sequence[str],
    externals: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Library:
    """`options`: `flags`, the compiler's arguments instead of FLAGS. No `externals` here."""
    assert not externals
    flags = tuple((options or {}).get("flags", FLAGS))
    key = hashlib.sha256("\0".join((text, *flags)).encode()).hexdigest()
    if key not in _compiled:
        library = _build(text, flags)
        found = {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in entries
        }
        _compiled[key] = Library({name: int(found[name] or 0) for name in entries}, library)
    return _compiled[key]
