"""Each kind of guard: it passes what it was made for, and misses every change of it."""

from __future__ import annotations

import abc
import collections
import enum
import functools
import gc
import types
import weakref

import pytest
import torch
from guard_builder import Guards


class Holder:
    """Any user object."""


class Slotted:
    __slots__ = ("a", "b")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Loud:
    """Must never be compared or hashed by a guard."""

    def __eq__(self, other):
        raise AssertionError("compared")

    def __hash__(self):
        raise AssertionError("hashed")

    def __repr__(self):
        raise AssertionError("printed")


def holder(**attributes):
    made = Holder()
    made.__dict__.update(attributes)
    return made


# Roots and steps of sources, and how they print.


def test_sources_print_in_the_terms_of_the_program():
    free = 3

    def function(self, x):
        return free

    g = Guards(function)
    self = g.slot(0)
    assert g.text(self) == "L['self']"
    assert g.text(g.attribute(self, "training")) == "L['self'].training"
    layers = g.part(self, "_modules", "layers")
    assert g.text(g.part(g.part(layers, "_modules", "0"), "_parameters", "weight")) == (
        "L['self'].layers[0].weight"
    )
    assert g.text(g.global_("torch")) == "G['torch']"
    assert g.text(g.keyed("dict_item", g.step("builtins", g.function()), "len")) == "B['len']"
    closure = g.item("closure_cell", g.function(), 0)
    assert g.text(g.step("cell_contents", closure)) == "L['free']"
    kind = g.step("type", self)
    assert g.text(g.keyed("class_attribute", kind, "forward")) == "type(L['self']).forward"
    assert g.text(g.item("list_item", g.slot(1), 3)) == "L['x'][3]"
    assert g.text(g.keyed("dict_item", g.slot(1), "a b")) == "L['x']['a b']"
    assert g.text(g.stack(2)) == "S[2]"


def test_equal_sources_are_one():
    g = Guards()
    assert g.attribute(g.slot(0), "a") == g.attribute(g.slot(0), "a")
    assert g.keyed("dict_item", g.slot(1), 1) != g.keyed("dict_item", g.slot(1), "1")
    assert g.attribute(g.slot(0), "a") != g.attribute(g.slot(0), "b")


def test_steps_reach_what_python_reaches():
    cell_value = object()

    def function(self, x, y, z=7, *, k=8):
        return cell_value

    g = Guards(function)
    f = g.function()
    own = g.slot(0)
    sources = {
        "cell": (g.step("cell_contents", g.item("closure_cell", f, 0)), cell_value),
        "default": (g.item("tuple_item", g.step("defaults", f), 0), 7),
        "kwdefault": (g.keyed("dict_item", g.step("kwdefaults", f), "k"), 8),
        "code": (g.step("code", f), function.__code__),
        "globals": (g.step("globals", f), globals()),
        "list": (g.item("list_item", g.attribute(own, "items"), 1), "two"),
        "slot": (g.keyed("member_slot", g.attribute(own, "slotted"), Slotted.a), "in a slot"),
        "class": (g.keyed("class_attribute", g.step("type", own), "__doc__"), Holder.__doc__),
        "self": (g.step("method_self", g.attribute(own, "method")), own),
        "function": (g.step("method_function", g.attribute(own, "method")), function),
        "partial": (g.step("partial_function", g.attribute(own, "partial")), function),
        "arguments": (
            g.item("tuple_item", g.step("partial_arguments", g.attribute(own, "partial")), 0),
            1,
        ),
        "keywords": (
            g.keyed("dict_item", g.step("partial_keywords", g.attribute(own, "partial")), "y"),
            2,
        ),
        "getter": (g.step("property_getter", g.attribute(own, "getter")), function),
        "static": (g.step("wrapped_function", g.attribute(own, "static")), function),
        "class_method": (g.step("wrapped_function", g.attribute(own, "class_method")), function),
    }
    me = holder(items=["one", "two"], slotted=Slotted())
    me.slotted.a = "in a slot"
    me.method = types.MethodType(function, me)
    me.partial = functools.partial(function, 1, y=2)
    me.getter = property(function)
    me.static, me.class_method = staticmethod(function), classmethod(function)
    values = g.program(*(source for source, _ in sources.values()))(me, None, None)
    for (name, (_, expected)), value in zip(sources.items(), values, strict=True):
        assert value is (me if name == "self" else expected), name


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [("list_item", (1, 2)), ("tuple_item", [1, 2]), ("list_item", []), ("tuple_item", None)],
)
def test_an_item_of_something_else_is_a_miss(kind, wrong):
    g = Guards()
    program = g.program(g.item(kind, g.slot(0), 1))
    assert "is gone" in program(wrong)


def test_steps_from_other_types_miss():
    steps = ["cell_contents", "code", "globals", "defaults", "method_self", "method_function"]
    steps += ["partial_function", "property_getter", "wrapped_function", "grad"]
    for step in steps:
        g = Guards()
        assert "is gone" in g.program(g.step(step, g.slot(0)))(3), step


# Guards.


def test_is():
    g = Guards()
    me = holder()
    g.guard("is", g.slot(0), me)
    program = g.program()
    assert program(me) == []
    assert program(holder()) == (
        "L['self'] changed: an object of type Holder -> an object of type Holder"
    )


def test_is_holds_nothing_alive_and_misses_once_it_died():
    g = Guards()
    me = holder()
    g.guard("is", g.slot(0), me)
    program, gone = g.program(), weakref.ref(me)
    del me
    g.builder = None
    gc.collect()
    assert gone() is None
    assert program(None) != []  # a dead reference is not None
    for _ in range(100):  # one of them may lie where it lay
        assert program(holder()) != []


def test_type():
    class Local:
        pass

    g = Guards()
    g.guard("type", g.slot(0), Local)
    program = g.program()
    made = Local()
    assert program(made) == []
    made.__class__ = Holder
    assert program(made) == "type(L['self']) changed: Local -> Holder"
    gone = weakref.ref(Local)
    del Local, made
    g.builder = None
    gc.collect()
    assert gone() is None


VALUES = [
    None, True, False, 0, 1, -5, 10**30, 0.0, -0.0, 1.0, float("nan"), 1j, complex(0.0, -0.0),
    "", "one", "one two", b"", b"one", ..., (), (1,), (True,), (1.0,), ((1, "a"), None),
    frozenset(), frozenset({1}), frozenset({True}), range(3), range(0), range(1, 1), range(0, 3, 2),
    slice(1, 2), slice(1.0, 2), torch.float32, torch.float64, torch.device("cpu"),
    torch.device("cpu", 0), torch.Size([1, 2]), torch.Size([2, 1]), (1, 2), torch.strided,
    torch.preserve_format,
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(VALUES)))
def test_equals_tells_every_value_from_every_other(at):
    g = Guards()
    g.guard("equals", g.slot(0), VALUES[at])
    program = g.program()
    for other, value in enumerate(VALUES):
        result = program(value)
        assert (result == []) == (other == at), (VALUES[at], value, result)
    assert program(Loud()) != []
    assert program(holder()) != []


def test_equals_takes_equal_objects():
    g = Guards()
    g.guard("equals", g.slot(0), 12345678901234567890)
    g.guard("equals", g.slot(1), "a long string")
    g.guard("equals", g.slot(2), (1, (2.5, "x")))
    program = g.program()
    text = "".join(["a long ", "string"])
    assert program(int("12345678901234567890"), text, (1, (2.5, "x"))) == []


def test_equals_tells_subclasses_apart():
    class Number(int):
        pass

    class Text(str):
        pass

    for value, other in ((1, Number(1)), ("a", Text("a")), (1, True), (1, 1.0)):
        g = Guards()
        g.guard("equals", g.slot(0), value)
        assert g.program()(other) != []


def test_a_changed_attribute_is_told_in_source_terms():
    g = Guards()
    g.guard("type", g.slot(0), Holder)
    g.guard("equals", g.attribute(g.slot(0), "training"), True)
    program = g.program()
    me = holder(training=True)
    assert program(me) == []
    me.training = False
    assert program(me) == "L['self'].training changed: True -> False"
    del me.training
    assert program(me) == "L['self'].training is gone"


def test_length():
    for full, other in (([1, 2], [1]), ((1, 2), ()), ({1: 2, 2: 3}, {}), ({1, 2}, {1, 2, 3})):
        g = Guards()
        g.guard("length", g.slot(0), number=2)
        program = g.program()
        assert program(full) == []
        assert program(other) == f"len(L['self']) changed: 2 -> {len(other)}"
        assert program(7) != []


def test_length_is_the_bases_own():
    class Odd(list):
        def __len__(self):
            raise AssertionError("asked")

    g = Guards()
    g.guard("length", g.slot(0), number=2)
    program = g.program()
    assert program(Odd([1, 2])) == []
    assert program(Odd([1])) == "len(L['self']) changed: 2 -> 1"


def test_classes_that_are_registered():
    class Abstract(abc.ABC):  # noqa: B024
        pass

    g = Guards()
    g.guard("abc_token", number=abc.get_cache_token())
    program = g.program()
    assert program() == []
    Abstract.register(Holder)
    assert program() == "a class was registered with an abstract one"


def test_keys_in_order():
    g = Guards()
    g.guard("keys", g.slot(0), ("a", 1, Colour.RED))
    program = g.program()
    assert program({"a": 0, 1: 0, Colour.RED: 0}) == []
    assert program({1: 0, "a": 0, Colour.RED: 0}) == "the keys of L['self'] changed"
    assert program({"a": 0, 1: 0}) != []
    assert program({"a": 0, True: 0, Colour.RED: 0}) != []
    assert program({"a": 0, 1: 0, Colour.BLUE: 0}) != []
    assert program({"a": 0, 1: 0, Colour.RED: 0, "b": 0}) != []
    assert program(["a", 1, Colour.RED]) != []


def test_keys_of_an_ordered_dict_follow_its_own_order():
    g = Guards()
    g.guard("keys", g.slot(0), ("a", "b"))
    program = g.program()
    ordered = collections.OrderedDict(a=1, b=2)
    assert program(ordered) == []
    ordered.move_to_end("a")
    assert program(ordered) != []


@pytest.mark.parametrize("key", ["a", 1, Colour.RED, (1, "a"), Holder, len])
def test_has_key_and_lacks_key(key):
    has, lacks = Guards(), Guards()
    has.guard("has_key", has.slot(0), key)
    lacks.guard("lacks_key", lacks.slot(0), key)
    has_program, lacks_program = has.program(), lacks.program()
    for container in ({key: 1, "z": 2}, {key, "z"}, frozenset({key})):
        assert has_program(container) == []
        assert lacks_program(container) != []
    for container in ({"z": 2}, {"z"}, frozenset()):
        assert has_program(container) != []
        assert lacks_program(container) == []
    for other in (None, 3, [key]):
        assert has_program(other) != []
        assert lacks_program(other) != []


def test_absence_in_an_instance_dict():
    g = Guards()
    g.guard("type", g.slot(0), torch.nn.Parameter)
    g.guard("absent", g.attribute(g.slot(0), "mark"))
    g.guard("lacks_key", g.step("instance_dict", g.slot(0)), "mark")
    program = g.program()
    parameter = torch.nn.Parameter(torch.ones(2))
    assert program(parameter) == []  # it has no dict yet
    parameter.other = 1
    assert program(parameter) == []
    parameter.mark = 2
    assert program(parameter) == "L['self'].mark is there now: 2"


def test_absence_below_something_absent_is_a_miss():
    g = Guards()
    g.guard("absent", g.keyed("dict_item", g.attribute(g.slot(0), "d"), "k"))
    program = g.program()
    assert program(holder(d={})) == []
    assert program(holder(d={"k": 1})) != []
    assert program(holder()) != []
    assert program(holder(d=[])) != []


def test_class_attributes_follow_the_method_resolution_order():
    class Base:
        def run(self):
            pass

    class Derived(Base):
        pass

    g = Guards()
    kind = g.step("type", g.slot(0))
    g.guard("type", g.slot(0), Derived)
    g.guard("is", g.keyed("class_attribute", kind, "run"), Base.run)
    g.guard("absent", g.keyed("class_attribute", kind, "other"))
    program = g.program()
    assert program(Derived()) == []
    Derived.run = lambda self: 1
    assert "type(L['self']).run changed" in program(Derived())
    del Derived.run
    assert program(Derived()) == []
    Base.other = 1
    assert "other is there now" in program(Derived())


def test_a_slot_that_is_empty_is_absent():
    g = Guards()
    g.guard("absent", g.keyed("member_slot", g.slot(0), Slotted.b))
    g.guard("equals", g.keyed("member_slot", g.slot(0), Slotted.a), 1)
    program = g.program()
    made = Slotted()
    assert program(made) == "L['self'].a is gone"
    made.a = 1
    assert program(made) == []
    made.b = 2
    assert program(made) != []
    assert program(holder()) != []


def tensors():
    base = torch.ones(4, 6)
    return [
        base,
        torch.ones(4, 6, dtype=torch.float64),
        torch.ones(6, 4).t(),
        torch.ones(4, 7),
        torch.ones(4, 6, 1),
        torch.ones(8, 6)[::2],
        torch.ones(4, 6, requires_grad=True),
        torch.nn.Parameter(torch.ones(4, 6)),
        torch.nn.Parameter(torch.ones(4, 6), requires_grad=False),
        torch.ones(4, 6, device="meta"),
        torch.ones(4, 6, dtype=torch.complex64).conj(),
        torch.ones(4, 6, dtype=torch.complex64),
        torch.ones(4, 6).to_sparse(),
        torch.ones(4),
        torch.tensor(1.0),
    ]


def test_tensor_metadata():
    made = tensors()
    with torch.inference_mode():
        made.append(torch.ones(4, 6))
    for at, tensor in enumerate(made):
        if tensor.layout != torch.strided:
            continue
        g = Guards()
        g.guard("tensor", g.slot(0), tensor)
        program = g.program()
        for other, value in enumerate(made):
            assert (program(value) == []) == (at == other), (at, other, program(value))
        assert program(tensor.detach().numpy() if at == 0 else None) != []


def test_changes_of_tensors_are_told():
    cases = [
        (torch.ones(8, 6), "L['self'].shape[0] changed: 4 -> 8"),
        (torch.ones(4), "L['self'].shape changed: [4, 6] -> [4]"),
        (torch.ones(6, 4).t(), "L['self'].stride() changed: [6, 1] -> [1, 4]"),
        (torch.ones(4, 6).double(), "L['self'].dtype changed: Float -> Double"),
        (torch.ones(4, 6, device="meta"), "L['self'].device changed: cpu -> meta"),
        (torch.ones(4, 6).requires_grad_(), "L['self'].requires_grad changed: False -> True"),
        (3, "L['self'] type changed: Tensor -> int"),
    ]
    g = Guards()
    g.guard("tensor", g.slot(0), torch.ones(4, 6))
    program = g.program()
    for value, text in cases:
        assert program(value) == text


def test_in_place_changes_of_metadata_are_seen():
    g = Guards()
    tensor = torch.ones(4, 6)
    g.guard("tensor", g.slot(0), tensor)
    program = g.program()
    assert program(tensor) == []
    for change in (
        lambda: tensor.t_(),
        lambda: tensor.resize_(2, 6),
        lambda: tensor.resize_(4, 6).requires_grad_(),
    ):
        change()
        assert program(tensor) != []
    tensor.requires_grad_(False)
    assert program(tensor) == []
    tensor.data = torch.ones(4, 6).double()
    assert program(tensor) != []


def test_the_storage_offset_only_where_it_is_asked_for():
    tensor = torch.ones(9)[1:9]
    loose, tight = Guards(), Guards()
    for g in (loose, tight):
        g.guard("tensor", g.slot(0), tensor)
    tight.offset(1)
    assert loose.program()(torch.ones(8)) == []
    program = tight.program()
    assert program(tensor) == []
    assert program(torch.ones(8)) != []


def symbolic_program():
    g = Guards()
    g.guard("tensor", g.slot(0), torch.ones(4, 6, 2))
    g.symbolic(0)
    g.symbolic(1)
    g.symbol("s0", g.slot(0), 0, 2, 100)
    g.symbol("s1", g.slot(0), 1, 2, 50)
    g.guard("tensor", g.slot(1), torch.ones(6))
    g.symbolic(0)
    g.symbol("s1", g.slot(1), 0, 2, 50)
    g.relation("s0 + 2", "<", "2*s1 + 4")
    g.relation("mod(s1, 2)", "==", "0")
    return g.program()


def test_symbolic_sizes_take_other_sizes():
    program = symbolic_program()
    assert program(torch.ones(4, 6, 2), torch.ones(6)) == []
    assert program(torch.ones(9, 8, 2), torch.ones(8)) == []


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (torch.ones(1, 6, 2), 6, "L['self'].shape[0] changed: 4 -> 1"),
        (torch.ones(101, 6, 2), 6, "size s0 (L['self']) is out of range"),
        (torch.ones(4, 6, 2), 8, "size s1 (L['x']) is out of range"),
        (torch.ones(4, 7, 2), 7, "no longer: mod(s1, 2) == 0"),
        (torch.ones(99, 6, 2), 6, "no longer: s0 + 2 < 2*s1 + 4"),
        (torch.ones(4, 6, 3), 6, "L['self'].shape[2] changed: 2 -> 3"),
        (torch.ones(6, 4, 2).transpose(0, 1), 6, "stride() changed"),
        (torch.ones(4, 6, 4)[..., ::2], 6, "stride() changed"),
        (torch.ones(4, 12, 2)[:, ::2], 6, "stride() changed"),
    ],
)
def test_symbolic_sizes_miss(first, second, reason):
    assert reason in symbolic_program()(first, torch.ones(second))


def test_symbolic_integers():
    g = Guards()
    g.symbol("s0", g.slot(0), -1, -5, 9)
    g.symbol("s1", g.slot(1), -1, -(2**62), 2**62)
    g.relation("floordiv(s0, 2)", "<=", "s1")
    program = g.program()
    assert program(3, 1) == []
    assert program(-3, -2) == []
    assert program(-3, -3) != []
    for other in (True, 3.0, 10, 2**80, "3", None):
        assert program(other, 1) != []


def test_changed_numbers_are_what_may_become_symbols():
    g = Guards()
    g.guard("tensor", g.slot(0), torch.ones(4, 6))
    g.guard("tensor", g.slot(1), torch.ones(3))
    g.guard("equals", g.slot(2), 7)
    program = g.program()
    assert program.changed(torch.ones(4, 6), torch.ones(3), 7) == set()
    assert program.changed(torch.ones(5, 6), torch.ones(8), 9) == {
        ("L['self']", 0),
        ("L['x']", 0),
        ("L['y']", -1),
    }
    assert program.changed(torch.ones(5), None, 7.5) == set()


def test_state():
    g = Guards()
    g.guard("state")
    program = g.program()
    assert program() == []
    with torch.no_grad():
        assert program() == "grad mode changed: True -> False"
    with torch.inference_mode():
        assert "changed" in program()
    with torch.autocast("cpu"):
        assert program() == "autocast for cpu changed: False -> True"
    torch.set_default_dtype(torch.float64)
    try:
        assert "the default dtype changed" in program()
    finally:
        torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(True)
    try:
        assert program() == "deterministic algorithms changed: False -> True"
    finally:
        torch.use_deterministic_algorithms(False)
    with torch.device("meta"):
        assert "__torch_function__ modes changed: 0 -> 1" in program()
    assert program() == []


def test_same_and_distinct():
    same, distinct = Guards(), Guards()
    same.guard("same", same.slot(0), others=[same.slot(1), same.slot(2)])
    distinct.guard("distinct", distinct.slot(0), others=[distinct.slot(1), distinct.slot(2)])
    a, b, c = holder(), holder(), holder()
    assert same.program()(a, a, a) == []
    assert distinct.program()(a, b, c) == []
    program, other = Guards(), Guards()
    program.guard("same", program.slot(0), others=[program.slot(1), program.slot(2)])
    other.guard("distinct", other.slot(0), others=[other.slot(1), other.slot(2)])
    program, other = program.program(), other.program()
    for values in ((a, a, b), (a, b, a), (b, a, a)):
        assert "same object: L['self'], L['x'], L['y']" in program(*values)
    for values in ((a, a, b), (a, b, a), (a, a, a)):
        assert "different objects" in other(*values)
    assert other(b, a, a) == []  # of the others nothing is said


def test_many_distinct():
    def function(*args):
        pass

    g = Guards(function)
    items = [g.item("tuple_item", g.slot(0), k) for k in range(20)]
    g.guard("distinct", items[0], others=items[1:])
    program = g.program()
    objects = [holder() for _ in range(20)]
    assert program(tuple(objects)) == []
    objects[17] = objects[0]
    assert program(tuple(objects)) != []


def test_disjoint_memory():
    g = Guards()
    g.guard("tensor", g.slot(0), torch.ones(4))
    g.guard("tensor", g.slot(1), torch.ones(4))
    g.guard("disjoint", g.slot(0), others=[g.slot(1)])
    program = g.program()
    base = torch.ones(12)
    assert program(torch.ones(4), torch.ones(4)) == []
    assert program(base[:4], base[4:8]) == []
    assert "no common memory" in program(base[:4], base[3:7])
    assert program(base[:4], base[:4]) != []


def test_the_gradient_of_a_tensor():
    g = Guards()
    grad = g.step("grad", g.slot(0))
    g.guard("absent", grad)
    absent = g.program()
    g = Guards()
    grad = g.step("grad", g.slot(0))
    g.guard("tensor", grad, torch.ones(3))
    there = g.program(grad)
    tensor = torch.ones(3, requires_grad=True)
    assert absent(tensor) == []
    assert there(tensor) != []
    tensor.sum().backward()
    assert absent(tensor) != []
    assert there(tensor)[0] is tensor.grad


# The program as a whole.


def test_no_user_code_runs():
    class Sly(dict):
        def __getitem__(self, key):
            raise AssertionError

        __contains__ = __len__ = __iter__ = keys = __getitem__

    g = Guards()
    g.guard("keys", g.slot(0), ("a",))
    g.guard("length", g.slot(0), number=1)
    g.guard("has_key", g.slot(0), "a")
    g.guard("equals", g.keyed("dict_item", g.slot(0), "a"), 1)
    program = g.program()
    assert program(Sly(a=1)) == []
    assert program(Sly(a=Loud())) == "L['self']['a'] changed: 1 -> an object of type Loud"


def test_nothing_is_leaked_and_exceptions_are_left_alone():
    def count():
        gc.collect()
        return len(gc.get_objects())

    me = holder(items=[1, 2], d={"a": 1.5}, tensor=torch.ones(2, 2))

    def once():
        g = Guards()
        own = g.slot(0)
        g.guard("type", own, Holder)
        g.guard("is", own, me)
        g.guard("equals", g.item("list_item", g.attribute(own, "items"), 0), 1)
        g.guard("keys", g.attribute(own, "d"), ("a",))
        g.guard("tensor", g.attribute(own, "tensor"), me.tensor)
        program = g.program(g.attribute(own, "tensor"))
        assert program(me)[0] is me.tensor
        assert program(holder()) != []

    once()
    before = count()
    for _ in range(50):
        once()
    assert count() <= before + 5


def test_exports_hold_the_values_of_the_call():
    g = Guards()
    source = g.attribute(g.slot(0), "a")
    g.guard("type", g.slot(0), Holder)
    program = g.program(source, g.slot(1))
    first, second = holder(a=[1]), holder(a=[2])
    assert program(first, 3)[0] is first.a
    assert program(second, 3) == [second.a, 3]


def test_guards_print():
    g = Guards()
    g.guard("type", g.slot(0), Holder)
    g.guard("equals", g.attribute(g.slot(0), "a"), 1)
    g.guard("length", g.slot(1), number=3)
    g.guard("has_key", g.slot(1), "k")
    g.guard("lacks_key", g.slot(1), "z")
    g.guard("tensor", g.slot(2), torch.ones(2, 3))
    g.relation("s0", "<", "4")
    assert g.program().program.texts() == [
        "type(L['self']) is Holder",
        "L['self'].a == 1",
        "len(L['x']) == 3",
        "'k' in L['x']",
        "'z' not in L['x']",
        "L['y']: Float[2, 3] on cpu",
        "s0 < 4",
    ]
