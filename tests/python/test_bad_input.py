"""Bad input raises what eager raises, or a clear error of ours: never a crash, never an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import triptych
from triptych import errors

X, Y = torch.randn(3, 4), torch.randn(4, 5)
CAPTURED = """graph g captured {
  %x: f32[2] = input.user("x")
  %r: f32[2] = torch.relu(%x)
  output %r
}
"""
ILL_FORMED = """graph g normalized {
  %x: f32[2] = input.user("x")
  output %x
}
"""


def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ y) + 1


def nested(*_: Any) -> None:
    raise AssertionError("never called")


class WithoutWrite:
    language = "runes"


class WithWrite(WithoutWrite):
    def write(self, *_: Any) -> str:
        return ""


@pytest.fixture(scope="module")
def graph() -> triptych.Graph:
    return triptych.normalize(function, [X, Y])


@pytest.fixture(scope="module")
def program(graph: triptych.Graph) -> Any:
    return triptych.generate(graph)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            (torch.randn(3, 5), Y),
            r"input 0 \(arg0\): found sizes \[3, 5\].*expected sizes \[3, 4\]",
        ),
        ((X,), "found 1 inputs, expected 2"),
        ((X, Y, X), "found 3 inputs, expected 2"),
        ((X, "text"), "input 1: found str, expected a tensor or an integer"),
        ((X, None), "input 1: found NoneType, expected a tensor or an integer"),
        ((X, 3), r"input 1 \(arg1\): found an integer, expected a tensor"),
        ((X, Y.double()), "found dtype Double, expected dtype Float"),
        ((X, torch.randn(5, 4).t()), r"found sizes \[4, 5\] strides \[1, 4\]"),
        ((X, Y.to("meta")), "found device meta, expected device cpu"),
        ((X, Y.to_sparse()), "expected a plain strided tensor"),
        ((X.tolist(), Y), "input 0: found list, expected a tensor or an integer"),
    ],
)
def test_program(program: Any, inputs: tuple[Any, ...], message: str) -> None:
    for call in (program, program.run):
        with pytest.raises(errors.UserError, match=message):
            call(*inputs)
    assert not program.accepts(inputs)
    torch.testing.assert_close(program(X, Y)[0], function(X, Y))  # still in order


def test_tensor_that_was_given_twice() -> None:
    """It is one input of the graph, and the message says so."""
    program = triptych.generate(triptych.normalize(lambda x, y: x + y, [X, X]))
    with pytest.raises(errors.UserError, match=r"expected 1 \(arg0\); a tensor that stands twice"):
        program(X, X)
    torch.testing.assert_close(program(X)[0], X + X)


def test_program_takes_no_keywords(program: Any) -> None:
    with pytest.raises(TypeError, match="keyword"):
        program(X, y=Y)
    with pytest.raises(TypeError, match="keyword"):
        program.run(X, y=Y)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ((torch.randn(3, 5), Y), RuntimeError, "cannot be multiplied"),
        ((X, Y.double()), RuntimeError, "same dtype"),
        ((X,), errors.UserError, "takes 2 inputs, found 1"),
        ((X, Y, X), errors.UserError, "takes 2 inputs, found 3"),
        ((X, "text"), errors.UserError, "input 1: found str"),
    ],
)
def test_graph_run_by_aten(
    graph: triptych.Graph, inputs: tuple[Any, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        graph.run(*inputs)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ([X, torch.randn(5, 5)], RuntimeError, r"cannot be multiplied \(3x4 and 5x5\)"),
        ([X, Y.double()], RuntimeError, "same dtype"),
        ([X], TypeError, "missing 1 required positional argument"),
        ([X, "text"], TypeError, "unsupported operand"),
    ],
)
def test_normalize_raises_what_eager_raises(
    inputs: list[Any], error: type[Exception], message: str
) -> None:
    for call in (lambda: triptych.normalize(function, inputs), lambda: function(*inputs)):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda g: triptych.normalize(3, [X]), errors.UserError, "normalize takes a callable"),
        (lambda g: triptych.normalize(g, [X]), errors.UserError, "takes 2 inputs, found 1"),
        (
            lambda g: triptych.normalize(function, [X, Y], keep=["aten.softplu.default"]),
            ValueError,
            "did you mean 'aten.softplus.default'",
        ),
        (
            lambda g: triptych.normalize(function, [X, Y], decompositions={"no": function}),
            ValueError,
            "unknown op 'no'",
        ),
        (lambda g: triptych.generate(3), TypeError, "expected a Graph, found int"),
        (lambda g: triptych.generate(nested), TypeError, "triptych.normalize makes one"),
        (lambda g: triptych.generate(g, fuse="no"), TypeError, "'fuse': expected bool, found 'no'"),
        (lambda g: triptych.generate(g, options=3), TypeError, "options: expected a mapping"),
        (
            lambda g: triptych.generate(g, options={"writer": "cpp"}),
            errors.UserError,
            r"'writer' is no option but an argument: generate\(graph, writer=",
        ),
        (
            lambda g: triptych.Graph.parse(3),
            TypeError,
            "^Graph.parse: text: expected str, found int$",
        ),
        (
            lambda g: g.parse(str(g), 3),
            TypeError,
            "parse: constants: expected a mapping .* found int",
        ),
        (lambda g: g.parse(str(g), {"c": 3}), TypeError, "expected a mapping .* found dict"),
        (
            lambda g: triptych.Graph.load(3),
            TypeError,
            "^Graph.load: path: expected a path, found int",
        ),
        (lambda g: g.save(None), TypeError, "Graph.save: path: expected a path, found NoneType"),
        (lambda g: g.text(locations="no"), TypeError, "locations: expected bool, found str"),
        (lambda g: triptych.Graph(), TypeError, "made by normalize, from_fx, Graph.parse or"),
        (
            lambda g: triptych.disable(3),
            TypeError,
            "triptych.disable: expected a function, found 3",
        ),
        (
            lambda g: triptych.normalize(nested, [X], keep=[3]),
            TypeError,
            "an op or its name, found 3",
        ),
        (
            lambda g: triptych.normalize(nested, [X], keep=["§"]),
            ValueError,
            "unknown op '§': known are .* and [0-9]+ more",
        ),
        (
            lambda g: triptych.normalize(nested, [X], decompositions={"aten.relu": 3}),
            TypeError,
            "decompositions: aten.relu: expected a function, found 3",
        ),
        (lambda g: triptych.unregister_backend("no"), ValueError, "'no': there is none"),
        (lambda g: triptych.normalize(nested, [X], keep=3), TypeError, "keep: expected ops"),
        (
            lambda g: triptych.normalize(nested, [X], decompositions=3),
            TypeError,
            "decompositions: expected a mapping",
        ),
        (
            lambda g: triptych.normalize(lambda x: x.tolist(), [X]),
            errors.UnsupportedError,
            "needs the data of a tensor",
        ),
        (lambda g: triptych.explain(nested, fulgraph=True), ValueError, "did you mean 'fullgraph'"),
        (lambda g: triptych.explain(nested, dynamic=1), TypeError, "dynamic: expected True, False"),
        (lambda g: triptych.compile(nested, dynamic="yes"), TypeError, "found 'yes'"),
        (lambda g: triptych.compile(fullgraph="yes"), TypeError, "fullgraph: expected True or"),
        (lambda g: triptych.compile(nested, disable="yes"), TypeError, "disable: expected True"),
        (lambda g: triptych.compile(nested, options=3), TypeError, "options: expected a mapping"),
        (
            lambda g: triptych.compile(nested, options={"max_variants": 0}),
            ValueError,
            "'max_variants': expected at least 1, found 0",
        ),
        (
            lambda g: triptych.generate(triptych.Graph.parse(CAPTURED)),
            errors.UserError,
            "expected a normalized one",
        ),
        (
            lambda g: triptych.generate(triptych.Graph.parse(ILL_FORMED)),
            errors.UserError,
            "the fresh output %x is an input",
        ),
        (lambda g: triptych.generate(g, device="cuad"), ValueError, "unknown device"),
        (lambda g: triptych.generate(g, writer="lvm"), ValueError, "did you mean 'llvm'"),
        (lambda g: triptych.generate(g, fues=True), ValueError, "did you mean 'fuse'"),
        (lambda g: triptych.explain(3), TypeError, "expected a function or module"),
        (lambda g: triptych.compile(3), TypeError, "expected a function or module"),
        (lambda g: triptych.to_fx(3), TypeError, "expected a Graph, found int"),
        (lambda g: triptych.from_fx(3), TypeError, "expected an fx.GraphModule, found int"),
        (lambda g: triptych.Graph.load("/nowhere/graph.txt"), errors.UserError, "cannot be read"),
        (lambda g: triptych.Graph.parse(""), errors.UserError, "line 1"),
        (
            lambda g: triptych.register_device("chip", traits=None, writer=3, toolchain=nested),
            TypeError,
            "names no language",
        ),
        (
            lambda g: triptych.register_device(
                "chip", traits=3, writer=WithoutWrite(), toolchain=nested
            ),
            TypeError,
            "has no method 'write'",
        ),
        (
            lambda g: triptych.register_device(
                "chip", traits=3, writer=WithWrite(), toolchain=nested
            ),
            TypeError,
            "expected traits",
        ),
        (
            lambda g: triptych.register_device(
                "chip", traits=nested, writer=WithWrite(), toolchain=nested, launcher=3
            ),
            TypeError,
            "expected a launcher to call",
        ),
        # None of the failed attempts has left anything behind.
        (lambda g: triptych.unregister_device("chip"), ValueError, "unknown device"),
        (lambda g: triptych.generate(g, device="chip"), ValueError, "unknown device"),
        (lambda g: triptych.register_pass(3, nested), TypeError, "expected a name, found 3"),
        (
            lambda g: triptych.register_lowering("mylib.op.default", 3),
            TypeError,
            "expected an expression as text, found 3",
        ),
        (lambda g: triptych.unregister_pass("none"), ValueError, "unknown pass"),
        (lambda g: triptych.unregister_lowering("none"), ValueError, "unknown op"),
    ],
)
def test_public_functions(
    graph: triptych.Graph,
    call: Callable[[triptych.Graph], Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        call(graph)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((torch.randn(3, 5), Y), "(?i)dim|shape|multipl"),
        ((X, Y.double()), "same dtype"),
        ((X,), "missing 1 required positional argument"),
        ((X, "text"), "unsupported operand"),
        ((X, Y, X), "takes 2 positional arguments but 3 were given"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_compiled_function(
    inputs: tuple[Any, ...], message: str, strict: bool, recwarn: pytest.WarningsRecorder
) -> None:
    """An error of the user's is none of ours: no warning of a bug, no reproducer."""
    triptych.reset()
    compiled = triptych.compile(function, options={"strict": strict})
    with torch.no_grad():
        with pytest.raises(Exception, match=message):
            compiled(*inputs)
        torch.testing.assert_close(compiled(X, Y), function(X, Y))
    assert not [w for w in recwarn if "bug of the compiler" in str(w.message)]


def test_error_that_only_the_compiler_raises_is_reported(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a shape rule refuses and eager computes is a bug of ours."""
    from triptych import stages

    def refuse(*_: Any) -> None:
        raise RuntimeError("a rule that refuses too much")

    monkeypatch.setattr(stages, "compile_graph", refuse)
    triptych.reset()
    given = {"strict": False, "reproducers": str(tmp_path)}
    compiled = triptych.compile(function, options=given)
    with torch.no_grad(), pytest.warns(UserWarning, match="bug of the compiler"):
        torch.testing.assert_close(compiled(X, Y), function(X, Y))
    assert triptych.counters()["fallback.internal"] == 1
    with torch.no_grad():
        torch.testing.assert_close(compiled(X, Y), function(X, Y))
    assert triptych.counters()["fallback.internal"] == 1
    assert len(list(tmp_path.iterdir())) == 1
