"""Joins opcodes.toml with the running CPython's own tables: writes opcode_table.h and .cpp.

Run by the interpreter whose frames are to be interpreted. A build tool: standard library only.
"""

from __future__ import annotations

import argparse
import opcode
import sys
import tomllib
from pathlib import Path

VERSION = sys.version_info[:2]
INTRINSICS = {"CALL_INTRINSIC_1": "_intrinsic_1_descs", "CALL_INTRINSIC_2": "_intrinsic_2_descs"}


def constant(name: str) -> str:
    return "k" + "".join(part.capitalize() for part in name.split("_"))


def cache_units(name: str) -> int:
    entries = opcode._inline_cache_entries  # a list by number until 3.12, then a dict by name
    return entries.get(name, 0) if isinstance(entries, dict) else entries[opcode.opmap[name]]


def form(table: dict, name: str) -> dict:
    chosen = {}
    for row in table["forms"].get(name, []):
        since = tuple(int(part) for part in row.get("since", "3.11").split("."))
        if since <= VERSION:
            chosen = row
    return chosen


def jump_direction(name: str) -> int:
    if opcode.opmap[name] not in opcode.hasjrel:
        return 0
    return -1 if "BACKWARD" in name else 1


def fact(table: dict, meaning: dict[str, str], name: str) -> str:
    how = form(table, name)
    first, second = table["pairs"].get(name, [meaning.get(name, "unknown"), None])
    fields = [
        f"Op::{constant(first)}",
        f"Op::{constant(second or 'unknown')}",
        "true" if second else "false",
        str(cache_units(name)),
        str(how.get("shift", 0)),
        str(how.get("flags", 0)),
        str(how.get("set", 0)),
        str(jump_direction(name)),
        str(how.get("skip", 0)),
    ]
    return "{" + ", ".join(fields) + f"}},  // {name}"


def header(table: dict) -> str:
    names = list(table["ops"])
    lines = ["// Generated from opcodes.toml by generate_opcodes.py.", "#pragma once", ""]
    lines += ["#include <cstdint>", "", "namespace triptych::capture {", ""]
    lines += ["enum class Op : std::uint8_t {"]
    lines += [f"  {constant(name)}," for name in names]
    lines += ["};", f"inline constexpr int kOpCount = {len(names)};", ""]
    lines += ["}  // namespace triptych::capture", ""]
    return "\n".join(lines)


def semantics(table: dict) -> list[str]:
    working = [name for name in table["ops"] if name not in table["leaving"]]
    lines = [f"Flow {name}(Activation&, const Instruction&);" for name in working]
    lines += ["Flow leave(Activation&, const Instruction&);", ""]
    lines += ["const Semantics kSemantics[kOpCount] = {"]
    lines += [f"    {name if name in working else 'leave'}," for name in table["ops"]]
    return [*lines, "};", ""]


def source(table: dict) -> str:
    meaning = {spelling: ours for ours, spellings in table["ops"].items() for spelling in spellings}
    by_number = {number: name for name, number in opcode.opmap.items() if number < 256}
    lines = ["// Generated from opcodes.toml by generate_opcodes.py and CPython's `opcode` module."]
    lines += ['#include "capture/interpreter/opcode_facts.h"', ""]
    lines += ['#include "capture/interpreter/semantics.h"', ""]
    lines += ["namespace triptych::capture {", ""]
    names = ", ".join(f'"{name}"' for name in table["ops"])
    lines += [f"const char* const kOpNames[kOpCount] = {{ {names} }};"]
    leaves = ", ".join("true" if name in table["leaving"] else "false" for name in table["ops"])
    lines += [f"const bool kOpLeaves[kOpCount] = {{ {leaves} }};", ""]
    lines += ["const OpcodeFact kOpcodeFacts[256] = {"]
    for number in range(256):
        name = by_number.get(number)
        lines.append("    " + (fact(table, meaning, name) if name else "{},"))
    lines += ["};", ""]
    for name, attribute in INTRINSICS.items():
        array = constant(name)
        descriptors = getattr(opcode, attribute, [])
        lines += [f"const Op {array}[] = {{"]
        for descriptor in descriptors:
            ours = constant(meaning.get(descriptor, "unknown"))
            lines.append(f"    Op::{ours},  // {descriptor}")
        lines += ["    Op::kUnknown,", "};"]
        lines += [f"const int {array}Count = {len(descriptors)};"]
    for name in ("EXTENDED_ARG", "KW_NAMES", "CALL_INTRINSIC_1", "CALL_INTRINSIC_2"):
        number = opcode.opmap.get(name, -1)
        lines.append(f"const int kRaw{constant(name)[1:]} = {number};")
    lines += ["", "namespace semantics {", *semantics(table), "}  // namespace semantics"]
    lines += ["}  // namespace triptych::capture", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    table = tomllib.loads(arguments.table.read_text())
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "opcode_table.h").write_text(header(table))
    (arguments.out / "opcode_table.cpp").write_text(source(table))


if __name__ == "__main__":
    main()
