"""The decoder against CPython's own `dis`."""

from __future__ import annotations

import dis
import functools
import types
import unittest

import frames
import programs

_frames = frames.load()

# Where our opcode is not CPython's in small letters.
MERGED = {
    "LOAD_METHOD": "load_attr", "LOAD_FAST_CHECK": "load_fast", "PRECALL": "nop", "KW_NAMES": "nop",
    "JUMP_FORWARD": "jump", "JUMP_BACKWARD": "jump", "JUMP_BACKWARD_NO_INTERRUPT": "jump",
}  # fmt: skip
PAIRS = ("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST")


def code_objects(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


@functools.cache
def corpus():
    found = []
    for name in (*programs.FILES, functools.__file__, dis.__file__, unittest.case.__file__):
        with open(name) as file:
            found += code_objects(compile(file.read(), name, "exec"))
    return found


def expected_opcode(name):
    merged = name.replace("_FORWARD_IF", "_IF").replace("_BACKWARD_IF", "_IF")
    return MERGED.get(name, merged.lower())


class Decoder(unittest.TestCase):
    def test_opcodes_and_positions(self):
        for code in corpus():
            ours = [row for row in _frames.decode(code) if row[3] or row[0] in ("nop", "call")]
            theirs = [i for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"]
            self.assertEqual([row[5] * 2 for row in ours], [i.offset for i in theirs])
            for row, instruction in zip(ours, theirs, strict=True):
                name = instruction.opname
                if name in PAIRS or name.startswith("CALL_INTRINSIC"):
                    continue
                self.assertEqual(row[0], expected_opcode(name))

    def test_no_instruction_of_the_compiler_is_unknown(self):
        for code in corpus():
            for row in _frames.decode(code):
                self.assertNotEqual(row[0], "unknown", (code.co_name, row))

    def test_jumps(self):
        skipped = {"FOR_ITER"}  # its exit goes beyond the target that `dis` names
        for code in corpus():
            ours = {row[5] * 2: row for row in _frames.decode(code) if row[3]}
            first_of = {}  # `dis` names the first prefix of a target
            for instruction in dis.get_instructions(code):
                first_of[instruction.offset] = instruction
                has_target = instruction.opcode in dis.hasjrel
                if not has_target or instruction.opname in skipped:
                    continue
                target = instruction.argval
                self.assertEqual(ours[instruction.offset][6] * 2, target, instruction)

    def test_extended_arguments_start_before_the_instruction(self):
        function = compile("x = " + "+".join(f"a{i}" for i in range(300)), "", "exec")
        rows = [row for row in _frames.decode(function) if row[0] == "load_name"]
        self.assertEqual([row[1] for row in rows], list(range(300)))
        self.assertEqual({row[5] - row[4] for row in rows[256:]}, {1})

    def test_pairs_are_two_instructions_at_one_place(self):
        def f(a, b):
            return a + b

        loads = [row for row in _frames.decode(f.__code__) if row[0] == "load_fast"]
        self.assertEqual([row[1] for row in loads], [0, 1])
        if loads[0][5] == loads[1][5]:
            self.assertEqual([row[3] for row in loads], [True, False])

    def test_keyword_names_belong_to_the_call(self):
        code = compile("f(a=1)", "", "eval")
        rows = _frames.decode(code)
        names = [i for i, row in enumerate(rows) if row[0] in ("call", "call_kw")]
        self.assertEqual(len(names), 1)
        before = rows[names[0]]
        # Until 3.12 KW_NAMES sets what only CALL reads: no place to stop between them.
        self.assertEqual(before[3], before[0] == "call_kw")


class Tables(unittest.TestCase):
    def test_exception_table(self):
        for code in corpus():
            expected = [
                (e.start // 2, e.end // 2, e.target // 2, e.depth, e.lasti)
                for e in dis._parse_exception_table(code)
            ]
            self.assertEqual(_frames.handlers(code), expected)

    def test_locations(self):
        for code in corpus():
            for unit, positions in enumerate(code.co_positions()):
                line, end_line, column, end_column = (-1 if p is None else p for p in positions)
                self.assertEqual(
                    _frames.location(code, unit), (line, end_line, column, end_column), unit
                )

    def test_no_location_beyond_the_end(self):
        code = compile("1", "", "eval")
        self.assertEqual(_frames.location(code, 10_000), (-1, -1, -1, -1))
        self.assertEqual(_frames.location(code, -1), (-1, -1, -1, -1))


if __name__ == "__main__":
    unittest.main()
