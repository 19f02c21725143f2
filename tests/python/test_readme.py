"""The README is true: its program prints what it shows, and its commands exist and work.

`TRIPTYCH_BLESS=1` rewrites the shown output.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import triptych
from triptych.versions import minor

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
SHOWN = {"01_captured.txt": 0, "02_normalized.txt": 1, "04_fused.txt": 2, "06_kernels.ll": 3}
BLOCK = re.compile(r"```(\w+)\n(.*?)```\n", re.DOTALL)


def blocks(*languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(README.read_text()) if language in languages]


def commands() -> list[str]:
    lines = "".join(blocks("sh")).splitlines()
    return [line.split("#")[0].strip() for line in lines if line.strip()]


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the README's program writes to its dump folder, without this folder's name."""
    folder = tmp_path_factory.mktemp("readme")
    (program,) = blocks("python")
    (folder / "program.py").write_text(program)
    variables = {**os.environ, "TRIPTYCH_DUMP": str(folder / "dump")}
    variables["TRIPTYCH_STRICT"] = "1"
    subprocess.run([sys.executable, "program.py"], check=True, cwd=folder, env=variables)
    (graph,) = (folder / "dump").iterdir()
    texts = {path.name: path.read_text() for path in graph.iterdir()}
    return {name: text.replace(f"{folder}/", "") for name, text in texts.items()}


def test_shown_output_is_real(dumped: dict[str, str]) -> None:
    shown = blocks("text", "llvm")
    if os.environ.get("TRIPTYCH_BLESS"):
        text = README.read_text()
        for name, index in SHOWN.items():
            whole = dumped[name]
            text = text.replace(
                shown[index],
                whole[whole.find("\n}\n\n") + 4 :] if name == "04_fused.txt" else whole,
                1,
            )
        README.write_text(text)
        return
    for name, index in SHOWN.items():
        if name.endswith(".ll") and "x float>" in shown[index]:
            lanes = re.findall(r"<\d+ x float>", shown[index])
            if not set(lanes) <= set(re.findall(r"<\d+ x float>", dumped[name])):
                continue  # this machine's vectors have another width than the README's
        # A loop program's file repeats the graph that stands above it.
        assert dumped[name].endswith(shown[index]), f"{name}: rewrite it with ./dev bless"


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("./dev ")])
def test_dev_command(command: str) -> None:
    """`./dev test` runs this test, so it is only looked up; the demo runs."""
    name = command.split()[1]
    assert re.search(
        rf"^  {name}\b", subprocess.check_output(["./dev", "help"], cwd=ROOT, text=True), re.M
    )
    if name == "demo":
        run = subprocess.run(
            [sys.executable, "examples/demo.py"], cwd=ROOT, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        for text in ("stage 1", "stage 2", "stage 3", "max error against eager", "time per call"):
            assert text in run.stdout


@pytest.mark.parametrize("command", [c for c in commands() if c.startswith("pip ")])
def test_install_command(command: str) -> None:
    """What is installed is what tests run with; tests/python/test_packaging.py builds the wheel."""
    import torch

    words = command.split()
    assert words[:2] == ["pip", "install"]
    if words[2] == "-r":
        assert (ROOT / words[3]).exists()
    elif words[2].startswith("torch=="):
        assert words[2] == (ROOT / "requirements" / "torch.txt").read_text().strip()
        assert minor(torch.__version__)
    else:
        assert words[2:] == ["--no-build-isolation", "."]


def test_links_lead_somewhere() -> None:
    pages = [README, *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_docs_index_is_short() -> None:
    assert len((ROOT / "docs" / "README.md").read_text().splitlines()) <= 30
    assert triptych.__version__ in (ROOT / "CHANGELOG.md").read_text()
