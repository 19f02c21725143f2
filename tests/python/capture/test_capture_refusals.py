"""What no capture follows runs as it is: modes that take calls over, odd builtins, printing."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from own_capture import compiled

import triptych

X = torch.arange(1.0, 3.0)


pytestmark = pytest.mark.usefixtures("nothing_compiled")


def printed(x: torch.Tensor) -> torch.Tensor:
    print(x)
    y = x + 1
    print(f"{y}")
    return y * 2


def named(x: torch.Tensor) -> Any:
    return collections.namedtuple("Pair", "a b")(x, 1)


def requiring(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        weight = torch.ones(2, requires_grad=True)
        (weight * x).sum().backward()
    return weight.grad


# More items than a display takes at once: it grows one by one, and is from outside behind a break.
exec(f"def display(x): return [x * 2, {'1, ' * 30} float(x.sum()), x + 1]")
exec(f"def set_display(x): return {{ {', '.join(map(str, range(31)))}, float(x.sum()), 7 }}")


@pytest.mark.parametrize(
    "function", [str, printed, named, requiring, globals()["display"], globals()["set_display"]]
)
@torch.no_grad()
def test_as_eager(function: Callable[..., Any], capsys: pytest.CaptureFixture[str]) -> None:
    run = compiled(lambda x: function(x)) if function is str else compiled(function)
    for factor in (1, 2, 3):
        wanted = function(X * factor)
        shown = capsys.readouterr().out
        found = run(X * factor)
        if isinstance(wanted, str | set):
            assert found == wanted
        else:
            torch.testing.assert_close(found, wanted)
        assert capsys.readouterr().out == shown
    assert "test_as_eager" in globals()  # this frame is still the thread's


class Base:
    def __init__(self) -> None:
        triptych.graph_break()
        self.scale = 3


class Derived(Base):
    def __init__(self, value: torch.Tensor):
        super().__init__()
        self.value = value * self.scale


@torch.no_grad()
def test_super_behind_a_break() -> None:
    def make(x: torch.Tensor) -> Derived:
        triptych.graph_break()
        return Derived(x)

    run = compiled(make)
    for factor in (1, 2, 3):
        made = run(X * factor)
        torch.testing.assert_close(made.value, X * factor * 3)
        assert made.scale == 3 and list(vars(made)) == ["scale", "value"]


@torch.no_grad()
def test_builtins_that_cannot_import() -> None:
    names: dict[str, Any] = {"__builtins__": {"len": len}}
    exec("def function(x): return x + len(x)", names)
    torch.testing.assert_close(compiled(names["function"])(X), X + 2)
    assert triptych.counters()["fallback.capture.builtins"] == 1


@torch.no_grad()
def test_tensors_without_data() -> None:
    result = compiled(lambda x: x * 2 + 1)(torch.ones(2, device="meta"))
    assert result.is_meta and result.shape == (2,)
    assert triptych.counters()["fallback.backend.meta_tensor"] == 1


def test_transforms_of_torch_func() -> None:
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x.sum()

    run, rows = compiled(square), torch.ones(3, 2)
    for _ in range(5):  # it does not count against the function
        torch.testing.assert_close(torch.func.vmap(run)(rows), torch.func.vmap(square)(rows))
    with torch.no_grad():
        torch.testing.assert_close(run(X), square(X))
    assert triptych.counters()["captures"] == 1
    both = compiled(torch.func.vmap(square))
    torch.testing.assert_close(both(rows), torch.func.vmap(square)(rows))
    sum_of = compiled(lambda x: (x * x).sum())
    torch.testing.assert_close(torch.func.grad(sum_of)(X), 2 * X)


def test_tangents_are_kept() -> None:
    run = compiled(lambda x: x * 2 + 1)
    with torch.no_grad():
        run(X)
    with forward_ad.dual_level():
        result = run(forward_ad.make_dual(X, X))
        torch.testing.assert_close(forward_ad.unpack_dual(result).tangent, 2 * X)


def other_layouts() -> list[torch.Tensor]:
    parts = [torch.ones(2), torch.ones(3)]
    return [
        torch.nested.nested_tensor(parts),
        torch.nested.nested_tensor(parts, layout=torch.jagged),
        torch.eye(3).to_sparse(),
        torch.eye(3).to_sparse_csr(),
        torch.eye(3).to_mkldnn(),
    ]


@pytest.mark.filterwarnings("ignore:.*nested tensors|Sparse CSR:UserWarning")
@torch.no_grad()
def test_other_layouts_after_plain_tensors() -> None:
    for tensor in other_layouts():
        triptych.reset()
        run = compiled(lambda x: x * 2)
        run(torch.ones(3, 3))
        for _ in range(2):
            result = run(tensor)
            assert result.layout == tensor.layout and result.is_nested == tensor.is_nested
        refused = {"fallback.break.tensor", "fallback.break.subclass"}
        assert refused & set(triptych.counters())
        run(torch.ones(3, 3))
        assert triptych.counters()["captures"] == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@torch.no_grad()
def test_under_jit_trace() -> None:
    module = torch.nn.Linear(2, 2).eval()
    for whole in (module, torch.relu):
        run = compiled(whole) if whole is module else compiled(lambda x: torch.relu(x))
        for warm in (False, True):
            if warm:
                run(X)
            traced = torch.jit.trace(run, X)
            torch.testing.assert_close(traced(X - 1), whole(X - 1))
            assert "aten::" in str(traced.graph)
    assert triptych.counters()["fallback.capture.mode"] > 0


class Finalized:
    freed = 0

    def __del__(self) -> None:
        Finalized.freed += 1


def finalized(x: torch.Tensor) -> Any:
    made = object.__new__(Finalized)
    y = x + 1
    print(end="")
    return y, made


def finalized_once(x: torch.Tensor) -> Any:
    Finalized.__new__(Finalized)
    return x + 1


@pytest.mark.parametrize("function", [finalized, finalized_once])
@torch.no_grad()
def test_finalizers_run_once(function: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = compiled(function)
    Finalized.freed = 0
    for times in (1, 2, 3):
        run(X)
        assert Finalized.freed == times
    assert capsys.readouterr().err == ""


@torch.no_grad()
def test_another_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * len([1, 2]) + sum(map(abs, [-1, 2]))

    run = compiled(function)
    torch.testing.assert_close(run(X), X * 2 + 3)
    plain_len, plain_abs = len, abs
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "len", lambda of: 7 if of == [1, 2] else plain_len(of))
        torch.testing.assert_close(run(X), X * 7 + 3)
        patch.setattr(builtins, "abs", lambda of: 9 if of == -1 else plain_abs(of))
        torch.testing.assert_close(run(X), X * 7 + 11)
    torch.testing.assert_close(run(X), X * 2 + 3)


class Logged:
    log: list[str] = []

    def __init__(self, name: str) -> None:
        self.name = name

    def __del__(self) -> None:
        Logged.log.append(self.name)


class Holder:
    held: Any = None


HOLDER = Holder()


def deleted(x: torch.Tensor) -> Any:
    a, b = Logged("a"), Logged("b")
    del a
    Logged.log.append("middle")
    b = None
    Logged.log.append("end")
    return x + len(Logged.log), b


def overwritten(x: torch.Tensor) -> Any:
    HOLDER.held = Logged("held")
    Logged.log.append("middle")
    HOLDER.held = None
    return x + len(Logged.log)


@pytest.mark.parametrize("function", [deleted, overwritten])
@torch.no_grad()
def test_finalizers_run_in_order(function: Any) -> None:
    seen = []
    for run in (function, compiled(function)):
        logs = []
        for _ in range(3):
            Logged.log.clear()
            logs.append((repr(run(X)), list(Logged.log)))
        seen.append(logs)
    assert seen[0] == seen[1]


@dataclasses.dataclass(frozen=True)
class Key:
    size: int


class Named(tuple):  # type: ignore[type-arg]
    def __hash__(self) -> int:
        return hash(self.label)

    label = "n"


KEYS: set[Any] = set()


def makes_keys(x: torch.Tensor) -> Any:
    return {Key(x.shape[0]): x + 1}, {Key(1), Key(2), Key(1)}, {(Key(1), 2): x}


def keeps_keys(x: torch.Tensor) -> Any:
    KEYS.add(Key(x.shape[0]))
    return x * len(KEYS)


def keys_over_a_break(x: torch.Tensor) -> Any:
    made = {Key(1): x * 2}
    triptych.graph_break()
    return made[Key(1)] + 1


@pytest.mark.parametrize("function", [makes_keys, keeps_keys, keys_over_a_break])
@torch.no_grad()
def test_keys_with_a_hash_of_their_own(function: Any) -> None:
    seen = []
    for run in (function, compiled(function)):
        KEYS.clear()
        seen.append([repr(run(torch.ones(n))) for n in (1, 1, 2, 1)] + [repr(len(KEYS))])
    assert seen[0] == seen[1]


LAZY = [
    lambda c: c.conj().is_conj(),
    lambda c: torch.is_conj(c.conj()),
    lambda c: c.conj().imag.is_neg(),
    lambda c: c.conj() + 1 if c.conj().is_conj() else c - 100,
]


@pytest.mark.parametrize("function", LAZY)
@torch.no_grad()
def test_lazy_bits_are_eagers(function: Any) -> None:
    c = torch.tensor([1 + 2j, 3j])
    assert repr(compiled(function)(c)) == repr(function(c))


ORDINARY = [
    lambda x: abs(x - 1) <= 2,
    lambda x: pow(x, 2) + 1,
    lambda x: torch.zeros(2, dtype=float) + x.sum(),
    lambda x: x.to(int) + torch.ones(1, dtype=bool),
    lambda x: x + len(deleted.__class__.__name__),
]


@pytest.mark.parametrize("function", ORDINARY)
@torch.no_grad()
def test_ordinary_python_is_one_graph(function: Any) -> None:
    x = torch.arange(4.0)
    assert repr(compiled(function, fullgraph=True)(x)) == repr(function(x))
