"""Where the tests find the extension module `_frames`.

Set TRIPTYCH_FRAMES to its folder; else it is the one that `./dev build` made.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def folder() -> Path:
    return Path(os.environ.get("TRIPTYCH_FRAMES") or ROOT / "build" / "dev" / "capture_tests")


def load() -> ModuleType:
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = folder() / f"_frames{suffix}"
        if path.exists():
            spec = importlib.util.spec_from_file_location("_frames", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            if (problem := module.self_test()) is not None:
                raise ImportError(problem)
            return module
    raise ImportError(f"_frames is not in {folder()}: run `./dev build`, or set TRIPTYCH_FRAMES")
