"""CPython's own test modules for the language, and which of their tests cannot be the same."""

from __future__ import annotations

# A couple of seconds each: these run with every `./dev test`.
QUICK = """
    test_contextlib test_coroutines test_except_star test_extcall test_fstring test_generators
    test_grammar test_patma test_scope test_super test_unpack_ex test_with
    test_yield_from
""".split()  # noqa: SIM905

LANGUAGE = """
    test_asyncgen test_augassign test_binop test_bool test_builtin test_call test_class test_code
    test_compare test_compile test_contextlib test_contextlib_async test_coroutines test_dataclasses
    test_decorators test_descr test_dict test_dictcomps test_dynamic test_dynamicclassattribute
    test_enum test_eof test_except_star test_exception_group test_exception_hierarchy
    test_exception_variations test_exceptions test_extcall test_frame test_fstring test_funcattrs
    test_functools test_generator_stop test_generators test_genericalias test_genexps test_global
    test_grammar test_isinstance test_iter test_itertools test_keywordonlyarg test_lambda test_list
    test_listcomps test_metaclass test_named_expressions test_opcodes test_operator test_patma
    test_peepholer test_pep380 test_positional_only_arg test_pow test_property test_raise test_range
    test_richcmp test_scope test_setcomps test_slice test_string_literals test_subclassinit
    test_super test_sys_setprofile test_sys_settrace test_traceback test_type_aliases
    test_type_annotations test_type_params test_types test_typing test_unpack test_unpack_ex
    test_with test_yield_from
""".split()  # noqa: SIM905

# Users of the language, for breadth.
LIBRARY = """
    test_abc test_bisect test_collections test_contextvars test_context test_copy test_defaultdict
    test_deque test_finalization test_gc test_heapq test_import test_inspect test_json
    test_monitoring test_ordered_dict test_pprint test_re test_set test_signal test_sys
    test_threading test_tuple test_userdict test_userlist test_warnings test_weakref
""".split()  # noqa: SIM905

# Differences, by a part of the test's id, each with its reason. One with "hook" is accepted only
# when the test has that outcome too where the evaluator is installed and interprets nothing.
KNOWN_DIFFERENCES = {
    "test_call.TestRecursion.test_super_deep": (
        "hook",
        "recurses 90,000 deep; with any evaluator installed a Python call is a C call, whose depth"
        " CPython limits",
    ),
    "test_sys_settrace.": (
        "hook",
        "CPython reports the end of an awaited generator once more when an evaluator is installed",
    ),
    "test_monitoring.": (
        "hook",
        "counts the events of CPython's inlined calls, which an installed evaluator turns off, and"
        " one of these failures lets those after it fail",
    ),
}

# Modules whose process may end with a signal after its report, each with its reason.
MAY_CRASH_AT_EXIT = {
    "test_code": "leaves a ctypes function behind that CPython calls for all data on code objects",
}
