"""The status page says of each op what the compiler does with it."""

from __future__ import annotations

import json
from pathlib import Path

import torch

import triptych
from triptych import op_status


def test_every_op_of_aten_is_listed_once() -> None:
    listed = [name for name, *_ in op_status.rows()]
    assert len(listed) == len(set(listed)) > 2000
    assert {status for _, _, status, _ in op_status.rows()} == set(op_status.STATUSES)


def test_statuses_are_what_happens() -> None:
    """One op of each status, through the compiler."""
    status = {name: what for name, _, what, _ in op_status.rows()}
    x = torch.randn(4, 4)
    for name, expected, function in (
        ("aten.exp.default", "lowered", torch.exp),
        ("aten._softmax.default", "lowered", lambda x: torch.softmax(x, -1)),
        ("aten.mm.default", "external", lambda x: x @ x),
        ("aten.sort.default", "external", lambda x: x.sort().values),
        ("aten.silu.default", "decomposed", torch.nn.functional.silu),
        ("aten.add_.Tensor", "decomposed", lambda x: x.clone().add_(1)),
        ("aten.nonzero.default", "fallback", torch.nonzero),
        ("aten._local_scalar_dense.default", "fallback", lambda x: x.sum().item()),
    ):
        assert status[name] == expected, name
        try:
            graph = triptych.normalize(function, [x])
        except triptych.errors.UnsupportedError:
            assert expected == "fallback", name
            continue
        externals = [op for op, _ in triptych.generate(graph).externals]
        assert (name in externals) == (expected == "external"), name
        assert (name in [node.target for node in graph.nodes]) == (expected != "decomposed"), name


def test_page(tmp_path: Path) -> None:
    outcome = {"op": "add", "variant": "", "samples": {"float32": ["ok", "ok", "fallback: a.b"]}}
    (tmp_path / "add.json").write_text(json.dumps(outcome))
    page = op_status.page(tmp_path)
    assert "| `aten.add.Tensor` | core | lowered |" in page
    assert "| `aten.mm.default` | core | external |" in page
    assert "1 entries: 1 fallback: a.b, 2 ok." in page
    assert "| `add` | 1 fallback: a.b, 2 ok |" in page
    head, *lines = [line for line in page.splitlines() if line.startswith("| `aten.")]
    assert all(line.replace("\\|", "").count("|") == 5 for line in (head, *lines))
