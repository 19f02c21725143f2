"""`triptych.compile`: the public entry.

Who captures the program stands behind one function, `capture`: our own stage 1, or with the option
`capture="dynamo"` PyTorch's Dynamo.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from . import backends, devices, reports
from . import options as option_table
from .backend import MODES

# Options that are the capture's, whatever the backend.
CAPTURING = ("capture", "max_entries", "strict")


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Compiles a function or module; also a decorator, with or without arguments.

    fullgraph: raise where the program cannot be captured as one graph, instead of splitting it.
    dynamic: True makes sizes symbolic from the first call, False never, None when they change.
    backend: what compiles captured graphs: "triptych", any backend of `torch.compile` or
        `triptych.register_backend` by name, or a callable that takes an `fx.GraphModule` and
        example inputs. None: the default, "triptych" unless `set_default_backend` chose another.
    mode: see `triptych.list_modes()`; only for the backend "triptych".
    options: see `triptych.list_options()`; those set by `triptych.configure` here are kept.
    disable: return the model as it is.
    """
    check_flags(fullgraph=fullgraph, dynamic=dynamic, disable=disable)
    if model is None:

        def decorate(function: Callable[..., Any]) -> Any:
            return compile(
                function,
                fullgraph=fullgraph,
                dynamic=dynamic,
                backend=backend,
                mode=mode,
                options=options,
                disable=disable,
            )

        return decorate
    if not callable(model):
        raise TypeError(f"triptych.compile: expected a function or module, found {model!r}")
    if backend is None:
        backend = backends.default_backend()
    given = dict(option_table.as_mapping(options))
    capturing = {name: value for name, value in given.items() if name in CAPTURING}
    if backend != "triptych":
        given = {name: value for name, value in given.items() if name not in CAPTURING}
    chosen = choose_backend(backend, mode, given or None)
    if not disable:
        devices.prepare()
    if disable:
        return model
    return capture(model, chosen, fullgraph=fullgraph, dynamic=dynamic, given=capturing)


def check_flags(*, dynamic: object = None, **flags: object) -> None:
    """Raises TypeError unless each flag is a bool; `dynamic` may be None too."""
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic: expected True, False or None, found {dynamic!r}")
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name}: expected True or False, found {value!r}")


def choose_backend(
    backend: str | Callable[..., Any], mode: str | None, given: Mapping[str, Any] | None
) -> Callable[..., Any]:
    """The function that a captured graph is handed to. Raises for unknown names."""
    if isinstance(backend, str) and backend == "triptych":
        from . import backend as ours

        ours.check_mode(mode)
        kept = {**option_table.configured(), **option_table.check(given or {})}
        return Backend(ours.triptych, kept)
    if mode is not None:
        raise ValueError(f"mode {mode!r}: only the backend 'triptych' takes a mode here")
    if not isinstance(backend, str):
        if not callable(backend):
            raise TypeError(f"backend: expected a name or a callable, found {backend!r}")
        return backend if given is None else Backend(backend, dict(given))
    found = backends.find(backend)
    return found if given is None else Backend(found, dict(given))


class Backend:
    """A backend with its options; equal ones share compiled code."""

    def __init__(self, function: Callable[..., Any], given: dict[str, Any]):
        self.function = function
        self.options = given

    def __call__(self, gm: Any, example_inputs: Any) -> Callable[..., Any]:
        return self.function(gm, example_inputs, options=self.options)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Backend)
            and self.function is other.function
            and self.options == other.options
        )

    def __hash__(self) -> int:
        return hash((self.function, tuple(sorted(self.options))))


def capture(
    model: Callable[..., Any],
    backend: Callable[..., Any],
    *,
    fullgraph: bool,
    dynamic: bool | None,
    given: Mapping[str, Any] | None = None,
) -> Any:
    """A callable that captures `model` when called and hands its graphs to `backend`. Of the given
    options it looks at `capture`, `max_entries` and `strict`."""
    chosen = option_table.resolve(given)
    if chosen.capture == "triptych":
        from .capture import regions

        if not (reason := regions.unavailable()):
            settings = regions.Settings(
                backend, fullgraph, dynamic, chosen.max_entries, chosen.strict
            )
            return regions.compile_callable(model, settings)
        reports.warn_once("capture", f"PyTorch's Dynamo captures in this process: {reason}")
    import torch

    return torch.compile(model, backend=backend, fullgraph=fullgraph, dynamic=dynamic)


def list_modes() -> list[str]:
    """Names that `mode=` accepts."""
    return list(MODES)


def reset() -> None:
    """Forgets everything compiled, returns retained memory, sets all counters to zero."""
    import sys

    if "torch._dynamo" in sys.modules:
        import torch._dynamo

        torch._dynamo.reset()
    if "triptych.capture.regions" in sys.modules:
        from .capture import regions

        regions.reset()
    if "triptych.stages" in sys.modules:
        from . import stages

        stages.reset()
    reports.reset()
