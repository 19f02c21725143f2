"""A runnable script for a captured graph that met a bug of the compiler."""

from __future__ import annotations

import re
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import Options

if TYPE_CHECKING:
    import torch
    from torch.fx import GraphModule

_SCRIPT = '''\
"""A graph that met a bug of Triptych {version} with torch {torch}. Run it to see the bug again.

{error}
"""
import _operator, builtins, math, operator

import torch
from torch import device, inf, nan

from triptych.backend import triptych


class Graph(torch.nn.Module):
{body}

inputs = [
{inputs}
]
with torch.no_grad():
    gm = torch.fx.symbolic_trace(Graph())
    triptych(gm, inputs, options={options!r})(*inputs)
'''


def write(gm: GraphModule, inputs: Sequence[Any], error: Exception, options: Options) -> Path:
    """Writes the script and returns its path. Input values are not kept, only their kinds."""
    import torch

    from .versions import VERSION

    folder = options.reproducers or tempfile.gettempdir()
    Path(folder).mkdir(parents=True, exist_ok=True)
    body = re.sub(r" : [^,)=]+|(?<=\)) -> [^:]+(?=:\n)", "", gm.code).strip("\n")
    body = body.replace("\n", "\n    ")
    script = _SCRIPT.format(
        version=VERSION,
        torch=torch.__version__,
        error="".join(traceback.format_exception(error)).replace('"""', "'''"),
        body="    " + body.lstrip(),
        inputs="\n".join(f"    {spell(value)}," for value in inputs),
        options={**options.as_dict(), "strict": True, "dump": "", "reproducers": ""},
    )
    with tempfile.NamedTemporaryFile(
        "w", dir=folder, prefix="triptych_reproducer_", suffix=".py", delete=False
    ) as file:
        file.write(script)
    return Path(file.name)


def spell(value: Any) -> str:
    """Python text for a value of the same kind."""
    import torch

    if isinstance(value, torch.SymInt):
        return repr(value.node.hint)
    if not isinstance(value, torch.Tensor):
        return repr(value)
    text = f"torch.empty_strided({concrete(value.shape)}, {concrete(value.stride())}, "
    return f"{text}dtype={value.dtype}, device={str(value.device)!r}){fill(value)}"


def concrete(sizes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(int(getattr(getattr(size, "node", None), "hint", size)) for size in sizes)


def fill(value: torch.Tensor) -> str:
    if value.dtype.is_floating_point or value.dtype.is_complex:
        return ".normal_()"
    return ".zero_()"
