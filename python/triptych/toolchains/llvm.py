"""LLVM IR text to machine code in this process, by llvmlite.

One JIT serves the process; each module becomes a library in it that lives as long as its `Library`.
No pass runs: the writer's text is meant for code generation as it stands.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import Library, ToolchainError, symbols

if TYPE_CHECKING:
    from llvmlite.binding.orcjit import LLJIT
    from llvmlite.binding.targets import TargetMachine

_serial = itertools.count()


@functools.cache
def _binding() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


def _target_machine(cpu: str, features: str, level: int) -> TargetMachine:
    llvm = _binding()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=level, jit=True)


@functools.cache
def _jit(cpu: str, features: str, level: int) -> LLJIT:
    # The JIT takes its own target machine: sharing one with anything else would free it twice.
    return _binding().create_lljit_compiler(_target_machine(cpu, features, level))


@functools.cache
def host() -> tuple[str, dict[str, bool]]:
    """This machine's name and features, as LLVM calls them."""
    llvm = _binding()
    return llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features())


def _flatten(features: Mapping[str, bool]) -> str:
    return ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))


def compile(  # noqa: A001 - the toolchain interface's name
    text: str,
    entries: Sequence[str],
    externals: Sequence[str],
    options: Mapping[str, Any] | None = None,
) -> Library:
    """`options`: `level` of code generation (default 1); `cpu` and `features` (the host's)."""
    llvm = _binding()
    options = options or {}
    cpu, features = host()
    jit = _jit(
        options.get("cpu") or cpu,
        options.get("features") or _flatten(features),
        options.get("level", 1),
    )
    builder = llvm.JITLibraryBuilder().add_ir(text).add_current_process()
    for name, value in symbols.addresses(externals).items():
        builder.import_symbol(name, value)
    for name in entries:
        builder.export_symbol(name)
    try:
        tracker = builder.link(jit, f"triptych{next(_serial)}")
    except RuntimeError as error:
        raise ToolchainError(f"LLVM: {error}") from None
    return Library({name: tracker[name] for name in entries}, (jit, tracker))


def assembly(text: str, options: Mapping[str, Any] | None = None) -> str:
    """The machine code of a module as text, for reading."""
    llvm = _binding()
    options = options or {}
    cpu, features = host()
    machine = _target_machine(
        options.get("cpu") or cpu,
        options.get("features") or _flatten(features),
        options.get("level", 1),
    )
    machine.set_asm_verbosity(False)
    module = llvm.parse_assembly(text)
    module.verify()
    return machine.emit_assembly(module)
