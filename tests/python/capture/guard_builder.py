"""Guard programs put together by hand, with the extension module `_guards` of the tests."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
from pathlib import Path
from typing import Any

import torch  # noqa: F401  (its libraries are the module's)

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("TRIPTYCH_FRAMES") or ROOT / "build" / "dev" / "capture_tests")


def load() -> Any:
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = FOLDER / f"_guards{suffix}"
        if path.exists():
            spec = importlib.util.spec_from_file_location("_guards", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError(f"_guards is not in {FOLDER}: run `./dev build`, or set TRIPTYCH_FRAMES")


_guards = load()


class Guards:
    """The sources and guards of a function `f(self, x, y)`; sources are numbers."""

    def __init__(self, function: Any = lambda self, x, y: None):
        self.python_function = function
        self.builder = _guards.Builder(function.__code__)
        self.exports: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.builder, name)

    def attribute(self, source: int, name: str) -> int:
        return self.keyed("dict_item", self.step("instance_dict", source), name)

    def part(self, source: int, kind: str, name: str) -> int:
        """Of a module: `kind` is _modules, _parameters or _buffers."""
        return self.keyed("dict_item", self.attribute(source, kind), name)

    def global_(self, name: str) -> int:
        return self.keyed("dict_item", self.step("globals", self.function()), name)

    def program(self, *exports: int) -> Program:
        return Program(self.builder.compile(list(exports)), self.python_function)


class Program:
    def __init__(self, program: Any, function: Any):
        self.program = program
        self.function = function

    def __call__(self, *slots: Any) -> Any:
        """The values of the exports, or the reason why the call is refused."""
        return self.program.check(slots, self.function)

    def changed(self, *slots: Any) -> set[tuple[str, int]]:
        return self.program.changed(slots, self.function)
