"""Graphs and generated programs are copied, pickled, and read in another process."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import triptych

X = torch.randn(3, 4)
TABLE = torch.tensor([1.0, 2, 3, 4])
COPIES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda x: pickle.loads(pickle.dumps(x)),
]


def function(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x + TABLE, -1)


@pytest.fixture
def graph() -> triptych.Graph:
    return triptych.normalize(function, (X,))


@pytest.mark.parametrize("duplicate", COPIES)
def test_graph(graph: triptych.Graph, duplicate: Callable[[Any], Any]) -> None:
    other = duplicate(graph)
    assert other is not graph and other == graph
    assert other.constants == graph.constants and str(other) == str(graph)


@pytest.mark.parametrize("duplicate", COPIES)
@pytest.mark.parametrize("fuse", [True, False])
def test_program(graph: triptych.Graph, duplicate: Callable[[Any], Any], fuse: bool) -> None:
    program = triptych.generate(graph, writer="llvm", fuse=fuse)
    other = duplicate(program)
    assert other is not program and str(other) == str(program)
    torch.testing.assert_close(other(X)[0], function(X))


def test_program_from_edited_text_is_not_copied(graph: triptych.Graph) -> None:
    lowered = str(triptych.generate(graph).form("lowered"))
    program = triptych.generate(graph, edited={"lowered": lowered})
    with pytest.raises(TypeError, match="edited texts"):
        pickle.dumps(program)


def test_another_process(graph: triptych.Graph, tmp_path: Path) -> None:
    path = tmp_path / "program.pickle"
    path.write_bytes(pickle.dumps((triptych.generate(graph), X, function(X))))
    code = (
        "import pickle, sys, torch\n"
        "program, x, expected = pickle.load(open(sys.argv[1], 'rb'))\n"
        "torch.testing.assert_close(program(x)[0], expected)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
