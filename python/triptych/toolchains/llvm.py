"""LLVM IR text to machine code in this process, by the LLVM library that llvmlite ships.

C++ drives the library by itself: llvmlite's own Python layer is imported only to print assembly.
No pass runs: the writer's text is meant for code generation as it stands.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from . import Library, ToolchainError, symbols

_LEVEL = 1
_LIBRARY_NAMES = {"darwin": "libllvmlite.dylib", "win32": "llvmlite.dll"}


@functools.cache
def library_file() -> str:
    """The file of llvmlite's LLVM."""
    found = importlib.util.find_spec("llvmlite")
    if found is None or not found.submodule_search_locations:
        raise ToolchainError("llvmlite is not installed: it brings the LLVM that kernels need")
    name = _LIBRARY_NAMES.get(sys.platform, "libllvmlite.so")
    return os.path.join(found.submodule_search_locations[0], "binding", name)


@functools.cache
def prepare() -> None:
    """Starts to load LLVM beside what the caller does next: its first use takes some 30 ms."""
    from .. import _C

    try:
        _C.prepare_llvm(library_file(), "", "", _LEVEL)
    except ToolchainError:
        return  # the first compilation says it
    atexit.register(_C.finish_preparing_llvm)  # LLVM goes when the process ends


def compile(  # noqa: A001 - the toolchain interface's name
    text: str,
    entries: Sequence[str],
    externals: Sequence[str],
    options: Mapping[str, Any] | None = None,
) -> Library:
    """`options`: `level` of code generation (default 1); `cpu` and `features` (the host's);
    `threads` to compile with (PyTorch's number)."""
    import torch

    from .. import _C, errors

    options = options or {}
    try:
        code = _C.compile_llvm(
            library_file(),
            text,
            list(entries),
            symbols.addresses(externals),
            options.get("cpu") or "",
            options.get("features") or "",
            options.get("level", _LEVEL),
            options.get("threads") or torch.get_num_threads(),
        )
    except errors.UserError as error:
        raise ToolchainError(error.message) from None
    return Library(code.addresses, code)


def assembly(text: str, options: Mapping[str, Any] | None = None) -> str:
    """The machine code of a module as text, for reading."""
    import llvmlite.binding as llvm

    options = options or {}
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=options.get("cpu") or llvm.get_host_cpu_name(),
        features=options.get("features") or llvm.get_host_cpu_features().flatten(),
        opt=options.get("level", _LEVEL),
        jit=True,
    )
    machine.set_asm_verbosity(False)
    module = llvm.parse_assembly(text)
    module.verify()
    return str(machine.emit_assembly(module))
