"""The wheel: built from the checkout, installed apart from it, used outside."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-q"]
    # The flags of the tests' own build: with ccache most of it is there already.
    strict = "ON" if os.environ.get("CI") == "true" else "OFF"
    command += ["-C", f"cmake.define.TRIPTYCH_WERROR={strict}"]
    subprocess.run([*command, "-w", str(folder), str(ROOT)], check=True)
    (path,) = folder.glob("triptych-*.whl")
    return path


@pytest.mark.sweep
def test_contents(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    modules = [name for name in names if name.startswith("triptych/_C.")]
    assert len(modules) == 1
    assert "triptych/_build_info.py" in names
    assert "triptych/toolchains/llvm.py" in names
    assert not [n for n in names if "__pycache__" in n or n.startswith(("src/", "tests/"))]
    entries = next(n for n in names if n.endswith("entry_points.txt"))
    assert "torch_dynamo_backends" in zipfile.ZipFile(wheel).read(entries).decode()


@pytest.mark.sweep
def test_works_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(site)]
    subprocess.run([*command, str(wheel)], check=True)
    script = (
        "import torch, triptych, pathlib\n"
        f"assert pathlib.Path(triptych.__file__).is_relative_to({str(site)!r}), triptych.__file__\n"
        "f = torch.compile(lambda x: (x + 1).softmax(-1), backend='triptych',"
        " options={'strict': True})\n"
        "x = torch.randn(8, 8)\n"
        "torch.testing.assert_close(f(x), (x + 1).softmax(-1))\n"
        "assert not [n for n in triptych.counters() if n.startswith('fallback')]\n"
    )
    variables = {**os.environ, "PYTHONPATH": str(site)}
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path, env=variables)


@pytest.mark.parametrize(("name", "value"), [("TORCH", "2.9"), ("PYTHON", "3.99")])
def test_import_refuses_another_minor(name: str, value: str) -> None:
    script = (
        "import importlib.util, sys\n"
        "spec = importlib.util.find_spec('triptych')\n"
        "import types\n"
        "info = types.ModuleType('triptych._build_info')\n"
        "info.TORCH, info.PYTHON = sys.argv[1:]\n"
        "sys.modules['triptych._build_info'] = info\n"
        "import triptych\n"
    )
    import torch

    from triptych.versions import minor

    built = {"TORCH": minor(torch.__version__), "PYTHON": sysconfig.get_python_version()}
    built[name] = value
    run = subprocess.run(
        [sys.executable, "-c", script, built["TORCH"], built["PYTHON"]],
        capture_output=True,
        text=True,
    )
    assert run.returncode != 0
    assert f"{value}, found" in run.stderr
    assert "pip install --no-build-isolation" in run.stderr
