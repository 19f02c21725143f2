"""Graphs from Python: text, files, parts, errors."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

import models
import triptych
from triptych import _C, errors

GOLDEN = Path(__file__).parent.parent / "golden" / "graph_text"

TEXT = """graph g normalized {
  op test_graph::scale(Tensor x, float by=2.0, *, int[] dims=[1, 2]) -> Tensor
  symbol s0 in [2, inf] hint 5
  guard s0 <= 128 because "the mask"
  %x: f32[s0, 4] = input.user("x")
  %w: f32[4] = input.parameter("layer.weight")
  %c: f32[2] = constant("c")
  %scale: f32[s0, 4] = test_graph.scale.default(%x, nan)  # model.py:3 in layer
  %sort: f32[s0, 4], %sort_1: i64[s0, 4] = aten.sort.default(%scale)
  mutate input 1 to %w
  output %sort_1
  output %x is input 0
  output literal s0 + 1
}
"""
CONSTANTS = {"c": b"\x00\x01\x02\x03\x04\x05\xff\x80"}


def graph() -> _C.Graph:
    return _C.Graph.parse(TEXT, CONSTANTS)


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_text_round_trips(path: Path) -> None:
    text = path.read_text()
    parsed = _C.Graph.parse(text)
    assert str(parsed) == text
    assert parsed == _C.Graph.parse(str(parsed))


def test_parts() -> None:
    g = graph()
    assert (g.name, g.level) == ("g", "normalized")
    assert [(i.kind, i.name, str(i.value)) for i in g.inputs] == [
        ("user", "x", "%x"),
        ("parameter", "layer.weight", "%w"),
    ]
    assert [o.kind for o in g.outputs] == ["fresh", "input", "literal"]
    assert str(g.outputs[2].literal) == "s0 + 1"
    assert [(m.kind, m.input, str(m.value)) for m in g.mutations] == [("data", 1, "%w")]
    assert [(s.name, s.low, s.hint) for s in g.symbols] == [("s0", 2, 5)]
    assert [(str(guard), guard.reason) for guard in g.guards] == [("s0 <= 128", "the mask")]
    assert g.constants == CONSTANTS


def test_nodes() -> None:
    scale, sort = graph().nodes
    assert scale.target == "test_graph.scale.default"
    assert math.isnan(scale.args[1])
    assert scale.args[2] == [1, 2]
    assert (scale.location, scale.module_path) == ("model.py:3", "layer")
    assert sort.args == [scale.results[0], -1, False]
    assert [v.name for v in sort.results] == ["sort", "sort_1"]
    assert sort.results[1].type.dtype == torch.int64
    assert sort.results[1].type.sizes[1] == 4
    assert sort.results[1].type.sizes[0].evaluate({"s0": 7}) == 7


def test_literals_become_python_objects() -> None:
    args = _C.Graph.parse((GOLDEN / "arguments.txt").read_text()).nodes[0].args
    for expected in (
        None,
        True,
        -(2**63),
        math.inf,
        torch.bfloat16,
        torch.device("cuda:1"),
        torch.sparse_csr,
        torch.channels_last_3d,
        Ellipsis,
        7,
        'text\n"x"',
    ):
        assert expected in args, expected
    assert any(isinstance(a, slice) and a.step == -1 for a in args)
    assert {} in args
    assert () in args


def test_equality_sees_constants_and_types() -> None:
    assert graph() == graph()
    assert graph() != _C.Graph.parse(TEXT)
    assert graph() != _C.Graph.parse(TEXT, {"c": CONSTANTS["c"][:-1] + b"\x81"})
    assert graph() != _C.Graph.parse(TEXT.replace("%c: f32", "%c: i32"), CONSTANTS)


def test_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    graph().save(str(path))
    assert path.read_text() == TEXT
    assert _C.Graph.load(str(path)) == graph()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.txt", "graph.txt.bin"]
    (tmp_path / "graph.txt.bin").write_bytes(b'triptych constants 1\n99 "c"\nshort')
    with pytest.raises(errors.UserError, match="cut short"):
        _C.Graph.load(str(path))
    (tmp_path / "graph.txt.bin").unlink()
    with pytest.raises(errors.UserError, match="no bytes for c"):
        _C.Graph.load(str(path))


def strided_constants() -> list[torch.Tensor]:
    numbers = torch.arange(24.0).reshape(4, 6)
    return [
        numbers,
        numbers.t(),
        numbers[1:, ::2],
        torch.tensor([2.5]).expand(3, 4),
        torch.tensor([float("nan"), float("inf"), -0.0, 1e-45]),
        torch.tensor(3.0),
        torch.empty(0, 4),
        torch.arange(float(1 << 19)),  # too large to be kept as bytes while tracing
    ]


@pytest.mark.parametrize("number", range(len(strided_constants())))
def test_constants_survive_a_file(tmp_path: Path, number: int) -> None:
    """Values, and the strides that the graph says."""
    constant = strided_constants()[number]
    made = triptych.normalize(lambda x: constant * 1 + x.sum(), [torch.zeros(2)])
    path = tmp_path / "graph.txt"
    made.save(str(path))
    loaded = _C.Graph.load(str(path))
    assert loaded == made
    x = torch.ones(2)
    expected = constant * 1 + x.sum()
    for (actual,) in (loaded.run(x), triptych.generate(loaded)(x)):
        torch.testing.assert_close(actual, expected, equal_nan=True)
        assert actual.stride() == expected.stride()


@pytest.mark.parametrize("name", ["gpt2", "llama", "resnet"])
def test_models_survive_a_file(tmp_path: Path, name: str) -> None:
    case = models.build(name)
    inputs = case.inputs(1, case.sizes[0])
    with torch.no_grad():
        made = triptych.normalize(case.model, inputs)
    path = tmp_path / "graph.txt"
    made.save(str(path))
    loaded = triptych.Graph.load(str(path))
    assert loaded == made
    assert path.read_text() == str(made)
    state = dict([*case.model.named_parameters(), *case.model.named_buffers()])
    given = [*inputs, *(state[i.name] for i in loaded.inputs if i.kind != "user")]
    with torch.no_grad():
        actual = triptych.generate(loaded)(*given)[0]
        expected = next(iter(case.model(*inputs).values()))
    torch.testing.assert_close(actual, expected)


def test_verify_names_the_violation() -> None:
    broken = _C.Graph.parse(TEXT.replace("output %x is input 0", "output %x"), CONSTANTS)
    assert broken.verify() == [
        "invariant 12: output 1: the fresh output %x is an input [verify.12]"
    ]
    assert graph().verify() == []


def test_errors() -> None:
    with pytest.raises(errors.UserError, match="line 1, column 1: found 'grph'") as caught:
        _C.Graph.parse("grph")
    assert caught.value.code == "graph.parse"
    _C.register_op("test_graph::registered(Tensor x) -> Tensor")
    with pytest.raises(errors.UserError, match="expected the known one"):
        _C.register_op("test_graph::registered(Tensor x, int y) -> Tensor")
    with pytest.raises(errors.InternalError):
        int(_C.SymExpr.parse("s0"))
