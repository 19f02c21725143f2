"""The region runtime on captures put together by hand: calls, entries, recipes, effects."""

from __future__ import annotations

import collections
import dis
import functools
import gc
import sys
import threading
import weakref
from typing import Any

import pytest
import torch
from guard_builder import _guards

KINDS = (
    "output source instance_dict constant tuple list dict set frozenset slice cell method call "
    "object function"
)
RECIPES = {name: number for number, name in enumerate(KINDS.split())}
UNBOUND = 2**32 - 1
EFFECT_NAMES = (
    "set_attribute delete_attribute set_item delete_item clear set_list set_set set_cell set_grad "
    "call"
)
EFFECTS = {name: number for number, name in enumerate(EFFECT_NAMES.split())}


class Harness:
    """A region of `function`; each capture is written by `capture(captured, *slots)`."""

    def __init__(
        self, function: Any, capture: Any, graph: Any = None, self_: Any = None, **options: Any
    ):
        self.function = function
        self.write = capture
        self.graph = graph or (lambda x: (x * 2,))
        self.captures = 0
        self.graph_calls = 0
        self.symbolic: list[Any] = []
        self.reports: list[Any] = []
        self.region = _guards.make_region(
            function, self_, self.capture, self.compile, self.report, **options
        )

    def capture(self, slots: list[Any], unit: int, symbolic: Any) -> Any:
        self.captures += 1
        self.symbolic.append(symbolic)
        captured = Recorder(_guards.Captured(self.function))
        if self.write(captured, *slots) is False:
            return None
        return captured.captured

    def compile(self, nodes: int, inputs: list[Any]) -> Any:
        def call(*given: Any) -> Any:
            self.graph_calls += 1
            return self.graph(*given)

        return call

    def report(self, kind: str, what: Any) -> None:
        self.reports.append((kind, what))


class Recorder:
    def __init__(self, captured: Any):
        self.captured = captured

    def __getattr__(self, name: str) -> Any:
        return getattr(self.captured, name)

    def recipe(self, kind: str, index: int = 0, object: Any = None, items: Any = ()) -> int:
        return self.captured.recipe(RECIPES[kind], index, object, list(items))

    def source(self, source: int) -> int:
        return self.recipe("source", source)

    def effect(self, kind: str, target: int, **rest: Any) -> None:
        self.captured.effect(EFFECTS[kind], target, **rest)


def double(x, y=1):
    return x * 2


def capture_double(c, x, y=None, *rest):
    """One tensor in, one tensor out."""
    c.tensor(c.slot(0), x)
    c.equals(c.slot(1), y)
    c.input(c.slot(0))
    c.node(torch.mul, ["i0", 2])
    c.output(0)
    c.returns(c.recipe("output"))


def test_a_call_is_captured_once():
    h = Harness(double, capture_double)
    for k in range(5):
        assert torch.equal(h.region(torch.full((3,), float(k))), torch.full((3,), 2.0 * k))
    assert (h.captures, h.graph_calls) == (1, 5)
    assert h.reports == []


def test_another_call_is_captured_anew_with_reasons():
    h = Harness(double, capture_double)
    h.region(torch.ones(3))
    h.region(torch.ones(4))
    h.region(torch.ones(3), 5)
    assert h.captures == 3
    assert h.reports[0] == ("recompiles", ["L['x'].shape[0] changed: 3 -> 4"])
    assert h.reports[1][1][1] == "L['y'] changed: 1 -> 5"
    for _ in range(2):
        h.region(torch.ones(4))
        h.region(torch.ones(3))
    assert h.captures == 3


def test_changed_sizes_are_offered_as_symbols():
    h = Harness(double, capture_double)
    h.region(torch.ones(3, 2))
    h.region(torch.ones(4, 2))
    assert h.symbolic == [set(), {("L['x']", 0)}]
    h = Harness(double, capture_double, dynamic=False)
    h.region(torch.ones(3, 2))
    h.region(torch.ones(4, 2), 7)
    assert h.symbolic == [set(), set()]


def test_a_limit_leads_to_eager_calls():
    h = Harness(double, capture_double, max_entries=2)
    for size in range(1, 6):
        assert h.region(torch.ones(size)).shape == (size,)
    assert h.captures == 2
    assert h.reports[-1] == ("runs_eagerly", "capture.too_many_entries")
    assert sum(kind == "runs_eagerly" for kind, _ in h.reports) == 1
    h.region(torch.ones(2))
    assert h.graph_calls == 3


def test_entries_are_ordered_by_use():
    h = Harness(double, capture_double)
    h.region(torch.ones(3))
    h.region(torch.ones(4))
    for _ in range(100):
        h.region(torch.ones(3))
        h.region(torch.ones(4))
    assert h.captures == 2


def every_kind(a, b, /, c, d=4, *args, e, f=6, **kwargs):
    return (a, b, c, d, args, e, f, kwargs)


def capture_every_kind(c, *slots):
    c.returns(c.recipe("tuple", items=[c.source(c.slot(k)) for k in (0, 1, 2, 3, 6, 4, 5, 7)]))


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1, 2, 3), {"e": 5}),
        ((1, 2), {"c": 3, "e": 5, "d": 9}),
        ((1, 2, 3, 4, 5, 6), {"e": 7, "f": 8, "z": 9, "a": 10}),
        ((1, 2, 3), {"e": 5, "b": 2}),
    ],
)
def test_arguments_are_bound_as_python_binds_them(args, kwargs):
    h = Harness(every_kind, capture_every_kind)
    assert h.region(*args, **kwargs) == every_kind(*args, **kwargs)
    assert h.captures == 1


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((1,), {"e": 2}),
        ((1, 2, 3), {}),
        ((1, 2, 3), {"c": 3, "e": 2}),
        ((), {}),
        ((1, 2), {"e": 1}),
    ],
)
def test_wrong_arguments_raise_what_python_raises(args, kwargs):
    h = Harness(every_kind, capture_every_kind)
    with pytest.raises(TypeError) as expected:
        every_kind(*args, **kwargs)
    with pytest.raises(TypeError) as raised:
        h.region(*args, **kwargs)
    assert str(raised.value) == str(expected.value)
    assert h.captures == 0


def test_defaults_are_read_at_each_call():
    def function(x, y=3):
        return y

    h = Harness(function, lambda c, *slots: c.returns(c.source(c.slot(1))))
    assert h.region(0) == 3
    function.__defaults__ = (4,)
    assert h.region(0) == 4
    function.__defaults__ = None
    with pytest.raises(TypeError):
        h.region(0)


def test_self_goes_first():
    class Thing:
        def run(self, x, y=2):
            return (self, x, y)

    thing = Thing()
    h = Harness(
        Thing.run,
        lambda c, *slots: c.returns(
            c.recipe("tuple", items=[c.source(c.slot(k)) for k in range(3)])
        ),
        self_=thing,
    )
    assert h.region(1) == (thing, 1, 2)
    assert h.region(x=1, y=3) == (thing, 1, 3)


def test_a_region_is_a_method_of_its_class():
    def run(self, x):
        return x

    h = Harness(run, lambda c, *slots: c.returns(c.source(c.slot(0))))

    class Thing:
        method = h.region

    thing = Thing()
    assert thing.method(3) is thing
    assert Thing.method(thing, 3) is thing
    h.region.__name__ = "run"
    assert functools.update_wrapper(h.region, run).__wrapped__ is run


class Plain:
    pass


Point = collections.namedtuple("Point", "a b")


def function_with_a_cell():
    free = 0

    def made():
        return free

    return made


def write_every_recipe(c, x):
    """A list with one object of each kind; a list is in several of them."""
    x = c.source(c.slot(0))
    one, two = c.recipe("constant", object=1), c.recipe("constant", object="two")
    none = c.recipe("constant", object=None)
    shared = c.recipe("list", items=[one, x])
    thing = c.recipe("object", object=object, items=[c.recipe("constant", object=Plain)])
    code = function_with_a_cell().__code__
    namespace = c.recipe("constant", object=globals())
    cell = c.recipe("cell", items=[shared])
    made = c.recipe("function", object=code, items=[cell, none, none, namespace])
    partial = c.recipe("constant", object=functools.partial)
    c.effect("set_attribute", thing, key=c.recipe("constant", object="value"), value=shared)
    items = [
        c.recipe("tuple", items=[one, two]),
        shared,
        c.recipe("dict", items=[two, shared, one, x]),
        c.recipe("set", items=[one, two]),
        c.recipe("frozenset", items=[one]),
        c.recipe("slice", items=[one, none, none]),
        thing,
        made,
        c.recipe("method", items=[made, one]),
        c.recipe("call", object=("b",), items=[partial, made, one, two]),
        c.recipe("call", items=[c.recipe("constant", object=Point), one, two]),
        x,
    ]
    c.returns(c.recipe("list", items=items))


def test_recipes_make_everything():
    h = Harness(lambda x: None, write_every_recipe)
    given = object()
    first, second = h.region(given), h.region(given)
    assert first is not second and second[1] is not first[1]
    pair, shared, mapping, a_set, frozen, a_slice, thing, made, method, partial, point, x = first
    assert pair == (1, "two")
    assert shared == [1, given]
    assert mapping == {"two": shared, 1: given}
    assert list(mapping) == ["two", 1]
    assert mapping["two"] is shared
    assert a_set == {1, "two"} and frozen == frozenset({1}) and a_slice == slice(1, None, None)
    assert type(thing) is Plain and thing.value is shared
    assert made() is shared
    assert method.__func__ is made and method.__self__ == 1
    assert (partial.func, partial.args, partial.keywords) == (made, (1,), {"b": "two"})
    assert point == Point(1, "two")
    assert x is given
    assert h.captures == 1


def test_effects_are_done_again_at_each_call_in_order():
    class Thing:
        def __setattr__(self, name, value):
            raise AssertionError("must not run")

    def function(thing, items, mapping, ordered, a_set):
        pass

    def capture(c, *slots):
        thing, items, mapping, ordered, a_set = (c.source(c.slot(k)) for k in range(5))
        constant = lambda value: c.recipe("constant", object=value)
        made = c.recipe("list")
        c.effect("set_attribute", thing, key=constant("mark"), value=made)
        c.effect("set_list", items, items=[constant(1), made])
        c.effect("delete_item", mapping, key=constant("old"))
        c.effect("set_item", mapping, key=constant("new"), value=constant(2))
        c.effect("set_item", ordered, key=constant("b"), value=constant(3))
        c.effect("set_item", ordered, key=constant("c"), value=constant(4))
        c.effect("delete_item", ordered, key=constant("a"))
        c.effect("set_set", a_set, items=[constant(7)])
        c.returns(constant(None))

    h = Harness(function, capture)
    for _ in range(2):
        thing = Thing()
        items: list[Any] = [5, 6, 7]
        mapping, a_set = {"old": 1}, {1, 2}
        ordered = collections.OrderedDict(a=1, b=2)
        assert h.region(thing, items, mapping, ordered, a_set) is None
        assert items == [1, []] and items[1] is thing.mark
        assert mapping == {"new": 2}
        assert list(ordered.items()) == [("b", 3), ("c", 4)]
        assert list(reversed(ordered)) == ["c", "b"]
        assert a_set == {7}
    assert h.captures == 1


def test_effects_follow_the_graph():
    order = []

    def function(x):
        pass

    def capture(c, x):
        c.tensor(c.slot(0), x)
        c.input(c.slot(0))
        c.node(torch.mul, ["i0", 2])
        c.output(0)
        call = c.recipe("constant", object=order.append)
        c.effect("call", call, items=[c.recipe("constant", object="effect")])
        c.returns(c.recipe("output"))

    h = Harness(function, capture, graph=lambda x: order.append("graph") or (x,))
    h.region(torch.ones(2))
    assert order == ["graph", "effect"]


def test_a_failed_effect_raises():
    def capture(c, items):
        c.effect("delete_item", c.source(c.slot(0)), key=c.recipe("constant", object="k"))
        c.returns(c.recipe("constant", object=None))

    h = Harness(lambda d: None, capture)
    h.region({"k": 1})
    with pytest.raises(KeyError):
        h.region({})


def first_unit(function: Any, argument: str) -> int:
    """Where the first instruction with this argument lies."""
    for instruction in dis.get_instructions(function):
        if instruction.argval == argument and instruction.opname.startswith("LOAD_"):
            return instruction.offset // 2
    raise AssertionError("no such instruction")


def test_a_break_goes_on_in_a_frame():
    log = []

    def function(x, y):
        z = x + y
        log.append(z)
        return [z, y]

    unit = first_unit(function, "log")

    def capture(c, x, y, *rest):
        if h.captures > 1:
            return False
        c.equals(c.slot(1), y)
        source = c.source(c.slot(1))
        z = c.recipe("constant", object="from the region")
        cell = c.recipe("cell", items=[c.recipe("constant", object=log)])
        c.stops(unit, [UNBOUND, source, z, cell], [])

    h = Harness(function, capture)
    assert h.region(1, 2) == ["from the region", 2]
    assert log == ["from the region"]
    assert h.reports == [("breaks", "break.test"), ("runs_eagerly", "test.unsupported")]


def test_fullgraph_raises_at_a_break():
    h = Harness(double, lambda c, *slots: c.stops(0, [], []), fullgraph=True)
    with pytest.raises(NotImplementedError, match="the graph breaks: a test's break"):
        h.region(torch.ones(2))


def test_what_cannot_be_captured_runs_eagerly():
    h = Harness(double, lambda c, *slots: False)
    for _ in range(6):
        assert torch.equal(h.region(torch.ones(2)), torch.full((2,), 2.0))
    assert h.captures == 3
    assert h.reports == [("runs_eagerly", "test.unsupported")] * 3
    h = Harness(double, lambda c, *slots: False, fullgraph=True)
    with pytest.raises(NotImplementedError):
        h.region(torch.ones(2))


def test_bugs_are_raised_only_when_asked_for():
    def capture(c, *slots):
        raise AssertionError("a bug")

    h = Harness(double, capture)
    assert torch.equal(h.region(torch.ones(2)), torch.full((2,), 2.0))
    assert h.reports == [("runs_eagerly", "test.bug")]
    h = Harness(double, capture, strict=True)
    with pytest.raises(NotImplementedError, match="a bug"):
        h.region(torch.ones(2))


def test_a_guard_that_fails_at_once_is_a_bug():
    def capture(c, x, y):
        c.equals(c.slot(1), "something else")
        c.returns(c.recipe("constant", object=None))

    h = Harness(double, capture)
    assert torch.equal(h.region(torch.ones(2)), torch.full((2,), 2.0))
    assert h.reports == [("runs_eagerly", "capture.guards")]


def test_errors_of_the_graph_and_of_the_backend_reach_the_caller():
    def graph(x):
        raise RuntimeError("of the graph")

    h = Harness(double, capture_double, graph=graph)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="of the graph"):
            h.region(torch.ones(2))
    h = Harness(double, capture_double)
    h.compile = None
    h.region = _guards.make_region(double, None, h.capture, lambda n, i: 1 / 0, h.report)
    with pytest.raises(ZeroDivisionError):
        h.region(torch.ones(2))


@pytest.mark.parametrize("returned", [3, (), (1, 2), [1, 2]])
def test_a_graph_that_returns_something_else_is_an_error(returned):
    h = Harness(double, capture_double, graph=lambda x: returned)
    with pytest.raises((TypeError, ValueError), match="a compiled graph returned"):
        h.region(torch.ones(2))


def test_generators_are_left_to_python():
    def function(x):
        yield x

    h = Harness(function, capture_double)
    assert list(h.region(3)) == [3]
    assert h.captures == 0


def test_calls_within_calls():
    h = Harness(double, capture_double)
    h.graph = lambda x: (h.region(x[:1]) if len(x) > 1 else x * 2,)
    assert torch.equal(h.region(torch.ones(4)), torch.full((1,), 2.0))
    assert torch.equal(h.region(torch.ones(4)), torch.full((1,), 2.0))


def test_calls_while_capturing_are_eager():
    def capture(c, x, y):
        assert torch.equal(h.region(torch.ones(7)), torch.full((7,), 2.0))
        capture_double(c, x, y)

    h = Harness(double, capture)
    h.region(torch.ones(3))
    assert h.captures == 1


def test_several_threads():
    h = Harness(double, capture_double)
    failures = []

    def work(seed):
        for k in range(300):
            size = (k + seed) % 5 + 1
            result = h.region(torch.full((size,), float(k)))
            if not torch.equal(result, torch.full((size,), 2.0 * k)):
                failures.append((seed, k))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_region_keeps_no_argument_alive_and_goes_with_its_cycles():
    class Thing:
        pass

    def function(*args, **kwargs):
        return 0

    def capture(c, *slots):
        c.returns(c.recipe("constant", object=0))

    h = Harness(function, capture)
    thing = Thing()
    gone = weakref.ref(thing)
    h.region(thing, key=thing)
    h.region(thing, key=thing)
    del thing
    assert gone() is None
    function.region = h.region  # a cycle
    gone = weakref.ref(function)
    del function, h
    gc.collect()
    assert gone() is None


def test_no_references_are_lost():
    h = Harness(double, capture_double)
    x = torch.ones(3)
    h.region(x)
    before = sys.getrefcount(x), sys.getrefcount(double), sys.getrefcount(None)
    for _ in range(1000):
        h.region(x)
    after = sys.getrefcount(x), sys.getrefcount(double), sys.getrefcount(None)
    assert after[:2] == before[:2]
    assert abs(after[2] - before[2]) < 100
