"""Every option of the compiler, in one typed table.

An option is given, from weakest to strongest, by its default, the environment variable
TRIPTYCH_<NAME>, the context manager `triptych.configure(name=value)`, or the argument
`options={"name": value}` of `triptych.compile` and `torch.compile`. An unknown name is an error
that names the closest known one.
"""

from __future__ import annotations

import contextlib
import contextvars
import difflib
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from . import names


@dataclass(frozen=True)
class Option:
    name: str
    default: bool | int | str
    doc: str
    affects_cache_key: bool  # whether it can change the code that is generated
    choices: tuple[str, ...] = ()
    least: int | None = None  # of a number

    @property
    def type(self) -> type:
        return type(self.default)

    @property
    def variable(self) -> str:
        return f"TRIPTYCH_{self.name.upper()}"

    def check(self, value: Any) -> Any:
        if type(value) is not self.type:
            raise TypeError(f"option {self.name!r}: expected {self.type.__name__}, found {value!r}")
        if self.least is not None and isinstance(value, int) and value < self.least:
            raise ValueError(f"option {self.name!r}: expected at least {self.least}, found {value}")
        if self.choices:
            names.check(f"value of option {self.name!r}:", value, self.choices)
        return value

    def parse(self, text: str) -> Any:
        """The value that an environment variable spells."""
        if self.type is bool:
            spelled = {
                "1": True,
                "true": True,
                "on": True,
                "0": False,
                "false": False,
                "off": False,
            }
            if (value := spelled.get(text.lower())) is None:
                raise ValueError(f"{self.variable}={text!r}: expected 0 or 1")
            return value
        try:
            return self.check(self.type(text))
        except ValueError as error:
            raise ValueError(f"{self.variable}={text!r}: {error}") from None


TABLE: Mapping[str, Option] = MappingProxyType(
    {
        option.name: option
        for option in (
            Option("writer", "llvm", "language that kernels are written in", True, ("llvm", "cpp")),
            Option("fuse", True, "fuse loops of several ops into one kernel", True),
            Option("eager_rounding", False, "round f16/bf16 intermediates as eager does", True),
            Option("reuse_memory", True, "let values share memory when lifetimes allow", True),
            Option(
                "strict", False, "raise on a bug of the compiler instead of running eagerly", False
            ),
            Option("warn", True, "warn, once per cause, when a graph runs eagerly", False),
            Option(
                "max_variants",
                8,
                "compiled variants kept per graph with symbolic sizes",
                False,
                least=1,
            ),
            Option(
                "capture",
                "triptych",
                "who captures for triptych.compile: Triptych itself, or PyTorch's Dynamo",
                False,
                ("triptych", "dynamo"),
            ),
            Option(
                "max_entries",
                8,
                "captures kept per function before calls run eagerly",
                False,
                least=1,
            ),
            Option("dump", "", "folder that receives every stage of every graph as text", False),
            Option(
                "override", "", "folder of edited dump files, taken in place of a stage's", True
            ),
            Option("reproducers", "", "folder for reproducers of bugs (default: temporary)", False),
        )
    }
)

_configured: contextvars.ContextVar[Mapping[str, Any]] = contextvars.ContextVar(
    "triptych_options", default=MappingProxyType({})
)


class Options:
    """The value of every option, as attributes; immutable."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]):
        object.__setattr__(self, "_values", dict(values))

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_values")[name]
        except KeyError:
            raise AttributeError(names.unknown("option", name, TABLE)) from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("options are immutable: use triptych.configure")

    def as_dict(self) -> dict[str, Any]:
        return dict(self._values)

    def cache_key(self) -> tuple[tuple[str, Any], ...]:
        return tuple((name, self._values[name]) for name in TABLE if TABLE[name].affects_cache_key)

    def __repr__(self) -> str:
        return f"Options({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


def as_mapping(given: Any) -> Mapping[str, Any]:
    """The argument `options`, empty where it is None."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"options: expected a mapping of names to values, found {given!r}")
    return given or {}


def check(given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options, each with a known name and a value of its type."""
    for name in as_mapping(given):
        if name not in TABLE:
            raise ValueError(names.unknown("option", name, TABLE))
    return {name: TABLE[name].check(value) for name, value in given.items()}


def list_options() -> list[Option]:
    """Every option: name, default, what it does, whether it changes generated code."""
    return list(TABLE.values())


def configured() -> Mapping[str, Any]:
    """What enclosing `configure` blocks set."""
    return _configured.get()


def resolve(given: Mapping[str, Any] | None = None) -> Options:
    """All options: defaults, environment, `configure` blocks, then what is given here."""
    _warn_of_misspelt_variables()
    values: dict[str, Any] = {}
    for name, option in TABLE.items():
        text = os.environ.get(option.variable)
        values[name] = option.default if text is None else option.parse(text)
    values.update(configured())
    values.update(check(given or {}))
    return Options(values)


_seen_variables: set[str] = set()


def _warn_of_misspelt_variables() -> None:
    """Once for each variable of the environment whose name is nearly that of an option."""
    known = {option.variable for option in TABLE.values()}
    for name in sorted(os.environ):
        if not name.startswith("TRIPTYCH_") or name in known or name in _seen_variables:
            continue
        _seen_variables.add(name)
        if close := difflib.get_close_matches(name, known, n=1, cutoff=0.85):
            warnings.warn(
                f"triptych: the environment variable {name} is not known: did you mean {close[0]}?",
                stacklevel=2,
            )


@contextlib.contextmanager
def configure(**given: Any) -> Iterator[None]:
    """Sets options for everything that is compiled inside the `with` block, in this context."""
    token = _configured.set(MappingProxyType({**configured(), **check(given)}))
    try:
        yield
    finally:
        _configured.reset(token)
