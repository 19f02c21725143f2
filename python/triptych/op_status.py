"""The status page: what becomes of each op of ATen, and what became of PyTorch's own samples."""

from __future__ import annotations

import collections
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from . import _C

STATUSES = ("lowered", "external", "decomposed", "fallback")
_DATA_DEPENDENT = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
# Indexing depends on data only with a mask, which is met at run time.
_BY_MASK = ("aten::index", "aten::_unsafe_index")

Row = tuple[str, str, str, str]  # name, "core" or "", status, how


def rows() -> list[Row]:
    """Every op of ATen's dispatcher, by name."""
    table = {name: (name, set_, status, how) for name, set_, status, how in _C.op_rows()}
    names = (name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::"))
    found = {row[0]: row for row in (_row(name, table) for name in names) if row is not None}
    return [row for _, row in sorted({**table, **found}.items())]


def _row(registered: str, table: dict[str, Row]) -> Row | None:
    packet, _, overload = registered.removeprefix("aten::").partition(".")
    op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
    if op is None:  # only TorchScript's
        return None
    name = str(op)
    core = "core" if torch.Tag.core in op.tags else ""
    if any(tag in op.tags for tag in _DATA_DEPENDENT) and op._schema.name not in _BY_MASK:
        how = "its result's shape or value depends on data: the graph runs eagerly"
        return name, core, "fallback", how
    if name in table:
        return table[name]
    if any(a.alias_info is not None and a.alias_info.is_write for a in op._schema.arguments):
        return name, core, "decomposed", "functionalization: the form that does not mutate"
    if torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd"):
        return name, core, "decomposed", "PyTorch's own composition of other ops"
    if name in _python_table():
        return name, core, "decomposed", "PyTorch's Python decomposition"
    return name, core, "external", "ATen's kernel; shapes from PyTorch's Meta kernel"


_cached: set[str] = set()


def _python_table() -> set[str]:
    if not _cached:
        from torch._decomp import core_aten_decompositions

        _cached.update(map(str, core_aten_decompositions()))
    return _cached


def page(outcomes: Path | None = None) -> str:
    """Markdown. `outcomes` is a folder that tests/python/test_op_db.py wrote."""
    listed = rows()
    counts = collections.Counter(status for _, _, status, _ in listed)
    lines = [
        "# Ops",
        "",
        f"{len(listed)} ops of ATen: " + ", ".join(f"{counts[s]} {s}" for s in STATUSES) + ".",
        "",
        *_table(("op", "set", "status", "how"), ((f"`{n}`", *rest) for n, *rest in listed)),
    ]
    if outcomes is not None:
        lines += ["", *_outcome_lines(outcomes)]
    return "\n".join(lines)


def _outcome_lines(folder: Path) -> list[str]:
    found = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    totals: collections.Counter[str] = collections.Counter()
    listed = []
    for entry in found:
        here = collections.Counter(o for samples in entry["samples"].values() for o in samples)
        totals.update(here)
        name = ".".join(filter(None, (entry["op"], entry["variant"])))
        listed.append((f"`{name}`", ", ".join(f"{n} {o}" for o, n in sorted(here.items()))))
    summary = ", ".join(f"{n} {outcome}" for outcome, n in sorted(totals.items()))
    return [
        "## Samples of PyTorch's operator database",
        "",
        f"{len(found)} entries: {summary}.",
        "",
        *_table(("entry", "samples"), listed),
    ]


def _table(head: Iterable[str], listed: Iterable[Iterable[Any]]) -> list[str]:
    head = list(head)
    cells = [head, ["---"] * len(head), *(list(row) for row in listed)]
    return [
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells
    ]
