"""The devices that code is generated for: each is an entry that names its traits, writers,
toolchains and launcher. The CPU is registered the way a plug-in registers its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import names
from .toolchains import Library


@dataclass(frozen=True)
class WriterEntry:
    """A language of a device: who prints kernels in it, and who makes them launchable."""

    writer: Any  # a _C.Writer
    toolchain: Callable[..., Any]
    prepare: Callable[[], None] | None = None


@dataclass(frozen=True)
class Device:
    name: str
    traits: Callable[[], Any]
    launcher: Callable[..., None] | None
    writers: dict[str, WriterEntry] = field(default_factory=dict)

    def entry(self, writer: str | None) -> WriterEntry:
        """The writer of that name; the one registered first when there is no name."""
        name = next(iter(self.writers)) if writer is None else writer
        names.check("writer", name, self.writers)
        return self.writers[name]


_devices: dict[str, Device] = {}


def register_device(
    name: str,
    *,
    traits: Any,
    writer: Any,
    toolchain: Callable[..., Any],
    launcher: Callable[..., None] | None = None,
    prepare: Callable[[], None] | None = None,
) -> None:
    """Adds a device, or one more writer to a device that is known.

    `traits` is a `_C.Traits` or a function that returns one. `writer` is a `_C.Writer`, or an
    object with a `language` and `write(kernels, traits)` that returns text, or text and the names
    of the kernels' functions in it. `toolchain(text, entries, externals, options)` returns a
    `Library` of C functions (see `toolchains`) or, for a device with a launcher, one object per
    kernel; `launcher(kernel, compiled, buffers, symbols)` then runs a kernel: `buffers` are 1-d
    tensors over what the kernel reaches, `symbols` the values of its size symbols. `prepare` is
    called when compilation begins, long before the toolchain: it may load things in the background
    and should return at once when called again.
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register_device: expected a name, found {name!r}")
    if not isinstance(getattr(writer, "language", None), str):
        raise TypeError(f"device {name!r}: the writer {writer!r} names no language")
    if not callable(toolchain):
        raise TypeError(f"device {name!r}: expected a toolchain to call, found {toolchain!r}")
    for role, function in (("launcher", launcher), ("prepare", prepare)):
        if function is not None and not callable(function):
            raise TypeError(f"device {name!r}: expected a {role} to call, found {function!r}")
    # Nothing is registered unless everything is in order.
    entry = WriterEntry(_core_writer(name, writer), toolchain, prepare)
    device = _devices.get(name)
    if device is None:
        device = Device(name, _as_function(name, traits), launcher)
        _devices[name] = device
    device.writers[writer.language] = entry


def unregister_device(name: str) -> None:
    """Takes a device out again."""
    names.check("device", name, _devices)
    del _devices[name]


def list_devices() -> list[str]:
    """The names of the registered devices."""
    return list(_devices)


def find(name: str) -> Device:
    names.check("device", name, _devices)
    return _devices[name]


def prepare() -> None:
    """Something will be compiled soon: the toolchains of the devices' first writers may start."""
    for device in _devices.values():
        if (begin := device.entry(None).prepare) is not None:
            begin()


def _as_function(name: str, traits: Any) -> Callable[[], Any]:
    from . import _C

    if not callable(traits) and not isinstance(traits, _C.Traits):
        raise TypeError(
            f"device {name!r}: expected traits or a function that returns them, found {traits!r}"
        )

    def checked() -> Any:
        found = traits() if callable(traits) else traits
        if not isinstance(found, _C.Traits):
            raise TypeError(f"device {name!r}: expected traits, found {found!r}")
        return found

    return functools.cache(checked)


def _core_writer(name: str, writer: Any) -> Any:
    from . import _C

    if isinstance(writer, _C.Writer):
        return writer
    if not callable(getattr(writer, "write", None)):
        raise TypeError(f"device {name!r}: the writer {writer!r} has no method 'write'")
    return _C.PythonWriter(writer.language, writer.write)


def _llvm(
    text: str, entries: Sequence[str], externals: Sequence[str], options: Mapping[str, Any]
) -> Library:
    from .toolchains import llvm

    return llvm.compile(text, entries, externals, options)


def _prepare_llvm() -> None:
    from .toolchains import llvm

    llvm.prepare()


def _cpp(
    text: str, entries: Sequence[str], externals: Sequence[str], options: Mapping[str, Any]
) -> Library:
    from .toolchains import cpp

    return cpp.compile(text, entries, externals, options)


def _register_cpu() -> None:
    from . import _C

    register_device(
        "cpu",
        traits=_C.host_traits,
        writer=_C.LlvmWriter(),
        toolchain=_llvm,
        prepare=_prepare_llvm,
    )
    register_device("cpu", traits=_C.host_traits, writer=_C.CppWriter(), toolchain=_cpp)


_register_cpu()
