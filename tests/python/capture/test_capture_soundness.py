"""Guards are sound: after any change of what a program was given, the compiled function still does
what eager does. Every reachable leaf is changed, one at a time."""

from __future__ import annotations

import copy
import enum
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import test_capture_programs as programs
import torch

import triptych

OURS = {"capture": "triptych"}
Change = Callable[[Any], None]


def changed(value: Any) -> list[Any]:
    """Other values that could stand in a leaf's place."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, enum.Enum):
        return [other for other in type(value) if other is not value]
    if isinstance(value, int):
        return [value + 1, float(value), None]
    if isinstance(value, float):
        return [value + 0.5]
    if isinstance(value, str):
        return [value + "x"]
    if isinstance(value, torch.Tensor):
        return [value.double(), torch.cat([value, value]), value + 1, value.clone().t()]
    return [1] if value is None else []


def changes(value: Any, put: Callable[[Any, Any], None]) -> Iterator[Change]:
    """Changes of `value`, which `put(root, new)` stores in its place, and of all that it holds."""
    for other in changed(value):
        yield lambda root, other=other: put(root, copy.deepcopy(other))

    def inside(part: Any, store: Callable[[Any, Any], None]) -> Iterator[Change]:
        return changes(part, store)

    get = _getter(put)
    if isinstance(value, dict):
        for key, part in value.items():
            yield from inside(part, lambda r, v, k=key: get(r).__setitem__(k, v))
            yield lambda root, key=key: get(root).__delitem__(key)
        yield lambda root: get(root).__setitem__("another", 1)
    elif isinstance(value, list):
        for k, part in enumerate(value):
            yield from inside(part, lambda r, v, k=k: get(r).__setitem__(k, v))
        yield lambda root: get(root).append(2)
        yield lambda root: get(root).clear()
    elif isinstance(value, set):
        yield lambda root: get(root).add(77)
        yield lambda root: get(root).clear()
    elif hasattr(value, "__dict__") and not isinstance(value, torch.Tensor | enum.Enum):
        for key, part in vars(value).items():
            yield from inside(part, lambda r, v, k=key: vars(get(r)).__setitem__(k, v))
        yield lambda root: vars(get(root)).__setitem__("another", 1)


class _Place:
    """Takes what is stored, to find where a `put` leads."""


def _getter(put: Any) -> Callable[[Any], Any]:
    """The value that is at the place where `put` stores."""

    def get(root: Any) -> Any:
        trial = copy.deepcopy(root)
        marker = _Place()
        put(trial, marker)
        return _at(root, trial, marker)

    return get


def _at(root: Any, trial: Any, marker: _Place) -> Any:
    if trial is marker:
        return root
    pairs: list[tuple[Any, Any]] = []
    if isinstance(trial, dict):
        pairs = [(root[k], trial[k]) for k in trial if k in root]
    elif isinstance(trial, list | tuple):
        pairs = list(zip(root, trial, strict=True))
    elif hasattr(trial, "__dict__") and not isinstance(trial, torch.Tensor | enum.Enum):
        pairs = [(vars(root)[k], v) for k, v in vars(trial).items() if k in vars(root)]
    for one, other in pairs:
        found = _at(one, other, marker)
        if found is not None:
            return found
    return None


def outcome(function: Any, arguments: list[Any]) -> tuple[Any, Any, list[Any]]:
    programs.COUNTER = 5
    try:
        result, error = function(*arguments), None
    except Exception as raised:
        result, error = None, type(raised)
    return result, error, arguments


@pytest.mark.parametrize(
    ("function", "arguments"),
    programs.PROGRAMS,
    ids=[function.__name__ for function, _ in programs.PROGRAMS],
)
@torch.no_grad()
def test_every_change_is_seen(function: Any, arguments: Callable[[], tuple[Any, ...]]) -> None:
    triptych.reset()
    tried = 0
    count = len(arguments())
    for place in range(count):
        original = list(arguments())[place]
        for change in changes(original, lambda root, v, k=place: root.__setitem__(k, v)):
            # Captured for what it was first, so that only guards can tell the difference.
            compiled = triptych.compile(function, backend="eager", options=OURS)
            first = outcome(compiled, list(arguments()))
            programs.same(list(first), list(outcome(function, list(arguments()))), {})
            for_eager, for_compiled = list(arguments()), list(arguments())
            change(for_eager)
            change(for_compiled)
            wanted, got = outcome(function, for_eager), outcome(compiled, for_compiled)
            programs.same(list(got), list(wanted), {})
            tried += 1
    assert tried > 0
    # An operation that fails on sizes that vary is left to eager, whose message has the numbers.
    breaks = [name for name in triptych.counters() if name.startswith("fallback.break")]
    assert set(breaks) <= {"fallback.break.error"}
