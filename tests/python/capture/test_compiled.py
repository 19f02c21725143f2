"""`triptych.compile` with our own capture: functions, modules, breaks, recompiles, the API."""

from __future__ import annotations

import copy
import inspect
import io
import os
import pickle
import sys
import threading
import warnings
from typing import Any

import pytest
import torch
from own_capture import compiled

import triptych
from triptych import _C, errors

OURS = {"capture": "triptych"}


pytestmark = pytest.mark.usefixtures("without_gradients")


def count(name: str) -> int:
    return triptych.counters().get(name, 0)


def check(function: Any, *args: Any, region: Any = None, times: int = 2) -> Any:
    region = region or compiled(function)
    for _ in range(times):
        torch.testing.assert_close(region(*args), function(*args))
    return region


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.act = torch.nn.GELU()
        self.second = torch.nn.Linear(16, 4)
        self.register_buffer("scale", torch.full((4,), 2.0))
        self.calls = 0

    def forward(self, x: torch.Tensor, double: bool = False) -> torch.Tensor:
        y = self.second(self.act(self.first(x))) * self.scale
        return y * 2 if double else y


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * y + 1).sin()


def test_a_function_is_one_graph() -> None:
    check(chain, torch.randn(8, 8), torch.randn(8, 8))
    assert count("captures") == count("graphs") == 1
    assert not any(name.startswith("fallback") for name in triptych.counters())


def test_a_region_looks_like_its_function() -> None:
    region = compiled(chain)
    assert region.__name__ == "chain" and region.__wrapped__ is chain
    assert "chain" in repr(region)


def test_a_module_keeps_everything() -> None:
    model = Model()
    region = compiled(model)
    x = torch.randn(3, 8)
    check(model, x, region=region)
    check(lambda x: model(x, double=True), x, region=lambda x: region(x, double=True))
    assert isinstance(region, Model)
    assert list(region.state_dict()) == list(model.state_dict())
    assert repr(region) == repr(model)
    assert region.first is model.first
    assert [p.data_ptr() for p in region.parameters()] == [p.data_ptr() for p in model.parameters()]
    region.eval()
    assert not model.training and not model.first.training
    region.calls = 5
    assert model.calls == 5
    region.double()
    assert model.first.weight.dtype == torch.float64
    check(model, x.double(), region=region)


def test_a_module_is_copied_and_pickled() -> None:
    region = compiled(Model())
    x = torch.randn(3, 8)
    expected = region(x)
    again = copy.deepcopy(region)
    assert again.first is not region.first
    torch.testing.assert_close(again(x), expected)
    assert type(again).__call__ is not Model.__call__
    buffer = io.BytesIO()
    torch.save(region, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert type(loaded) is Model
    torch.testing.assert_close(loaded(x), expected)
    assert type(pickle.loads(pickle.dumps(region))) is Model


def test_changes_of_a_module_are_seen() -> None:
    model = Model()
    region = compiled(model)
    x = torch.randn(3, 8)
    changes = [
        lambda: setattr(model, "scale", torch.full((4,), 3.0)),
        lambda: setattr(model, "act", torch.nn.ReLU()),
        lambda: setattr(model, "act", torch.nn.Identity()),
        lambda: model.first.weight.data.fill_(0.5),
        lambda: setattr(model, "second", torch.nn.Linear(16, 4, bias=False)),
        lambda: setattr(model.first, "bias", None),
        lambda: setattr(model, "forward", lambda x: x + 1),
    ]
    check(model, x, region=region)
    for change in changes:
        change()
        check(model, x, region=region)


def test_hooks_that_come_and_go() -> None:
    model = Model()
    region = compiled(model)
    x = torch.randn(3, 8)
    check(model, x, region=region)
    handle = model.register_forward_hook(lambda module, args, out: out + 1)
    check(model, x, region=region)
    inner = model.first.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    check(model, x, region=region)
    handle.remove()
    check(model, x, region=region)
    inner.remove()
    check(model, x, region=region)
    anywhere = torch.nn.modules.module.register_module_forward_hook(lambda m, a, out: out * 3)
    check(model, x, region=region)
    anywhere.remove()
    check(model, x, region=region)


def test_bound_methods_and_callables() -> None:
    model = Model()
    x = torch.randn(3, 8)

    class Callable:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

        def method(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.factor

    thing = Callable(3.0)
    check(model.forward, x)
    check(thing.method, x)
    region = check(thing, x)
    thing.factor = 4.0
    check(thing, x, region=region)


def test_a_decorated_method() -> None:
    class Thing:
        factor = 2.0

        @triptych.compile(options=OURS)
        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    x = torch.randn(3)
    first, second = Thing(), Thing()
    second.factor = 5.0
    torch.testing.assert_close(first.run(x), x * 2)
    torch.testing.assert_close(second.run(x), x * 5)
    torch.testing.assert_close(first.run(x), x * 2)


def test_recompiles_are_told(capsys: Any, monkeypatch: Any) -> None:
    from triptych import logs

    monkeypatch.setenv("TRIPTYCH_LOGS", "recompiles")
    logs.enabled.cache_clear()
    try:
        model = Model()
        region = compiled(model)
        region(torch.randn(3, 8))
        model.eval()
        region(torch.randn(3, 8))
        region(torch.randn(3, 8), double=True)
    finally:
        logs.enabled.cache_clear()
    printed = capsys.readouterr().err
    first_line = inspect.getsourcelines(Model.forward)[1]
    lines = inspect.getsource(Model.forward).splitlines()
    read = first_line + next(k for k, line in enumerate(lines) if "if double" in line)
    assert f"L['double'] changed: False -> True (read at {__file__}:{read})" in printed
    assert count("recompiles") >= 1


def test_guards_and_graphs_are_printed(capsys: Any, monkeypatch: Any) -> None:
    from triptych import logs

    monkeypatch.setenv("TRIPTYCH_LOGS", "guards, graph")
    logs.enabled.cache_clear()
    try:
        compiled(chain)(torch.ones(3), torch.ones(3))
    finally:
        logs.enabled.cache_clear()
    printed = capsys.readouterr().err
    assert "[triptych:guards] of chain" in printed and "L['x']: Float[3] on cpu" in printed
    assert "[triptych:graph]" in printed and "torch.relu" in printed


def test_unknown_log_topics_are_refused(monkeypatch: Any) -> None:
    from triptych import logs

    monkeypatch.setenv("TRIPTYCH_LOGS", "graphs")
    logs.enabled.cache_clear()
    with pytest.raises(ValueError, match="did you mean 'graph'"):
        logs.enabled()
    logs.enabled.cache_clear()


def test_too_many_entries_run_eagerly_with_one_warning() -> None:
    def function(x: torch.Tensor, k: str) -> torch.Tensor:
        return x * len(k)

    region = compiled(function, options={"max_entries": 2})
    x = torch.randn(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(1, 6):
            torch.testing.assert_close(region(x, "a" * k), x * k)
    texts = [str(w.message) for w in caught if "runs eagerly from now on" in str(w.message)]
    assert len(texts) == 1 and "L['k'] changed" in texts[0]
    assert count("captures") == 2
    assert count("fallback.capture.too_many_entries") == 1


log: list[Any] = []


def breaks_in_the_middle(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x) + 1
    triptych.graph_break()
    return y.sin() * 2


def breaks_on_data(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if y.sum() > 0:
        return y + 1
    return y - 1


def takes_an_item(x: torch.Tensor) -> torch.Tensor:
    n = (x * 2).sum().item()
    return x + n


def breaks_in_a_with(x: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        y = x * 2
        print(end="")
        y = y + 1
        inside = torch.is_grad_enabled()
    return y * (3 if inside else 5)


def breaks_in_a_try(x: torch.Tensor) -> torch.Tensor:
    y = x
    try:
        y = x * 2
        print(end="")
        y = y + 1
        raise ValueError("mine")
    except ValueError as error:
        y = y * len(str(error))
    finally:
        y = y - 1
    return y


def breaks_in_a_loop(x: torch.Tensor) -> torch.Tensor:
    for k in range(3):
        x = x + k
        print(end="")
        x = x * 2
    return x


def helper(x: torch.Tensor) -> torch.Tensor:
    a = x * 3
    print(end="")
    return a + 1


def breaks_in_a_callee(x: torch.Tensor) -> torch.Tensor:
    y = helper(x + 1)
    return y * 2 + helper(y)


@triptych.disable
def left_alone(x: torch.Tensor) -> torch.Tensor:
    return helper(x) * 2


def calls_what_is_left_alone(x: torch.Tensor) -> torch.Tensor:
    return left_alone(x + 1) - 1


BREAKING = [
    breaks_in_the_middle,
    breaks_on_data,
    takes_an_item,
    breaks_in_a_with,
    breaks_in_a_try,
    breaks_in_a_loop,
    breaks_in_a_callee,
    calls_what_is_left_alone,
]


@pytest.mark.parametrize("function", BREAKING, ids=lambda f: f.__name__)
def test_graph_breaks_give_the_right_answer(function: Any) -> None:
    region = compiled(function)
    for seed in range(4):
        torch.manual_seed(seed)
        check(function, torch.randn(4, 4), region=region)
        check(function, torch.randn(4, 4) - 3, region=region)


def test_both_sides_of_a_break_are_compiled() -> None:
    region = check(breaks_in_the_middle, torch.randn(4))
    assert count("graphs") == 2
    for _ in range(5):
        region(torch.randn(4))
    assert count("graphs") == 2


@pytest.mark.parametrize("function", BREAKING, ids=lambda f: f.__name__)
def test_fullgraph_raises_at_a_break(function: Any) -> None:
    region = compiled(function, fullgraph=True)
    with pytest.raises(errors.UnsupportedError) as raised:
        region(torch.randn(4, 4))
    assert raised.value.code
    assert "test_compiled.py:" in raised.value.location


def test_what_a_broken_function_raises_is_pythons() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print(end="")
        raise KeyError("mine")
        return y

    region = compiled(function)
    for _ in range(3):
        with pytest.raises(KeyError, match="mine") as raised:
            region(torch.randn(3))
        lines = [entry.lineno - function.__code__.co_firstlineno for entry in raised.traceback]
        assert lines[-1] == 2


def test_exceptions_of_the_program_are_pythons() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x @ y

    region = compiled(function)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            region(torch.randn(2, 3), torch.randn(2, 3))


def test_capture_shows_graphs_guards_and_breaks() -> None:
    x = torch.randn(4)
    captured = triptych.capture(breaks_in_the_middle)(x)
    torch.testing.assert_close(captured.result, breaks_in_the_middle(x))
    assert len(captured.graphs) == 2 and len(captured.breaks) == 1
    first = str(captured.graphs[0])
    assert "torch.relu" in first and "test_compiled.py" in first
    assert str(_C.Graph.parse(first)) == first
    assert any("L['x']: Float[4]" in guard for guard in captured.guards[0])
    assert any("L['y']: Float[4]" in guard for guard in captured.guards[1])
    assert "2 graphs, 1 breaks" in str(captured)


def test_explain_shows_breaks() -> None:
    with triptych.configure(capture="triptych"):
        report = triptych.explain(breaks_in_the_middle)(torch.randn(4))
    assert len(report.graphs) == 2
    assert len(report.breaks) == 1
    assert "test_compiled.py:" in report.breaks[0].location


def test_other_backends_take_the_captured_graph() -> None:
    seen = []

    def backend(gm: Any, inputs: Any) -> Any:
        seen.append((gm, inputs))
        return gm.forward

    region = compiled(chain, backend=backend)
    x, y = torch.randn(3), torch.randn(3)
    torch.testing.assert_close(region(x, y), chain(x, y))
    (gm, inputs) = seen[0]
    assert [i is j for i, j in zip(inputs, (x, y), strict=True)] == [True, True]
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["l_x", "l_y"]
    for name in ("eager", "aot_eager"):
        region = compiled(chain, backend=name)
        torch.testing.assert_close(region(x, y), chain(x, y))


def test_training_works_with_another_backend() -> None:
    model = Model()
    region = compiled(model, backend="eager")
    x = torch.randn(3, 8)
    with torch.enable_grad():
        region(x).sum().backward()
        got = model.first.weight.grad.clone()
        model.zero_grad()
        model(x).sum().backward()
    torch.testing.assert_close(got, model.first.weight.grad)


def test_grad_mode_is_guarded() -> None:
    def function(x: torch.Tensor) -> Any:
        return x * (2 if torch.is_grad_enabled() else 3)

    region = compiled(function)
    x = torch.ones(2)
    torch.testing.assert_close(region(x), x * 3)
    with torch.enable_grad():
        torch.testing.assert_close(region(x), x * 2)
    torch.testing.assert_close(region(x), x * 3)


def test_reset_forgets_everything() -> None:
    region = check(chain, torch.randn(3), torch.randn(3))
    assert len(_C.region_entries(region)) == 1
    triptych.reset()
    assert _C.region_entries(region) == []
    check(chain, torch.randn(3), torch.randn(3), region=region)


def test_calls_from_several_threads() -> None:
    model = Model()
    inputs = [torch.randn(k + 1, 8) for k in range(4)]
    expected = [model(x) for x in inputs]
    failures = []

    def work(region: Any, k: int) -> None:
        with torch.no_grad():
            for _ in range(20):
                if not torch.allclose(region(inputs[k]), expected[k], atol=1e-5):
                    failures.append(k)

    for _ in range(5):  # captures at the same time, too
        region = compiled(model)
        threads = [threading.Thread(target=work, args=(region, k)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not torch.compiler.is_compiling()
    assert failures == []


def test_a_region_inside_a_region() -> None:
    inner = compiled(chain)

    def outer(x: torch.Tensor) -> torch.Tensor:
        return inner(x, x) + 1

    x = torch.randn(3)
    region = compiled(outer)
    for _ in range(3):
        torch.testing.assert_close(region(x), chain(x, x) + 1)


def test_a_region_inside_torch_compile_and_the_reverse() -> None:
    region = compiled(chain)
    x = torch.randn(3)
    theirs = torch.compile(lambda x: region(x, x) + 1, backend="eager")
    torch.testing.assert_close(theirs(x), chain(x, x) + 1)
    inner = torch.compile(chain, backend="eager")
    ours = compiled(lambda x: inner(x, x) + 1)
    torch.testing.assert_close(ours(x), chain(x, x) + 1)


def test_backends_have_names() -> None:
    seen = []

    def mine(gm: Any, inputs: Any) -> Any:
        seen.append(gm)
        return gm.forward

    x = torch.randn(3)
    triptych.register_backend("mine", mine)
    try:
        assert {"mine", "triptych", "inductor"} <= set(triptych.list_backends())
        torch.testing.assert_close(compiled(chain, backend="mine")(x, x), chain(x, x))
        triptych.set_default_backend("mine")
        torch.testing.assert_close(compiled(chain)(x, x), chain(x, x))
        assert len(seen) == 2
    finally:
        triptych.set_default_backend("triptych")
        triptych.unregister_backend("mine")
    with pytest.raises(ValueError, match="unknown backend 'mime'"):
        triptych.set_default_backend("mime")
    with pytest.raises(ValueError, match="this compiler itself"):
        triptych.register_backend("triptych", mine)
    with pytest.raises(TypeError, match="expected a name and a function"):
        triptych.register_backend("other", None)  # type: ignore[arg-type]


def test_only_a_mapping_is_taken_for_options() -> None:
    with pytest.raises(TypeError, match="options: expected a mapping"):
        triptych.compile(chain, options=5)  # type: ignore[arg-type]


def test_no_handled_exception_is_left_behind() -> None:
    def breaks_in_a_handler(x: torch.Tensor) -> torch.Tensor:
        try:
            raise KeyError("mine")
        except KeyError:
            y = x * 2
            print(end="")
            y = y + 1
        return y

    def stops_in_a_handler(x: torch.Tensor) -> torch.Tensor:
        try:
            raise KeyError("mine")
        except KeyError:
            return helper(x)

    for function in (breaks_in_a_handler, stops_in_a_handler):
        region = compiled(function)
        for _ in range(3):
            torch.testing.assert_close(region(torch.ones(3)), function(torch.ones(3)))
            assert sys.exc_info() == (None, None, None)


def test_marked_dimensions_are_symbols_from_the_first_call() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * 2

    region = compiled(function)
    for size in (3, 4, 7):
        x = torch.randn(size, 5)
        torch._dynamo.mark_dynamic(x, 0)
        torch.testing.assert_close(region(x), function(x))
    assert count("captures") == 1
    triptych.reset()
    region = compiled(function)
    for size in (3, 4, 7):
        x = torch.randn(size, 5)
        torch._dynamo.mark_static(x, 0)
        torch.testing.assert_close(region(x), function(x))
    assert count("captures") == 3


def test_changed_sizes_become_symbols() -> None:
    def function(x: torch.Tensor, k: int) -> torch.Tensor:
        return torch.relu(x) * k

    region = compiled(function)
    for size in range(2, 9):
        x = torch.randn(size)
        torch.testing.assert_close(region(x, 3), function(x, 3))
    assert count("captures") == 2
    fixed = compiled(function, dynamic=False)
    for size in range(2, 6):
        fixed(torch.randn(size), 3)
    assert count("captures") == 6


def test_a_forked_process_calls_what_was_captured() -> None:
    region = check(chain, torch.ones(3), torch.ones(3))
    pid = os.fork()
    if pid == 0:
        good = torch.equal(
            region(torch.ones(3), torch.ones(3)), chain(torch.ones(3), torch.ones(3))
        )
        fresh = compiled(breaks_in_the_middle)(torch.ones(2))
        good = good and torch.allclose(fresh, breaks_in_the_middle(torch.ones(2)))
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_modules_are_made_in_a_process_where_dynamo_ran() -> None:
    """Dynamo replaces nn.Module.__init__ by one that notes each module in a weak dictionary."""
    x = torch.randn(3)
    torch.compile(torch.nn.Linear(3, 3), backend="eager")(x)

    def program(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU())(x) + 1

    check(program, x, region=compiled(program, fullgraph=True))
