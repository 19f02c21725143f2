"""Programs in the syntax of CPython 3.12."""

from __future__ import annotations

from outcomes import outcome, program


@program
def type_parameters():
    type Alias[T] = list[T] | None

    class Box[T: int, *Ts, **P]:
        item: T

        def get[U](self, other: U) -> U:
            return other

    def first[T: (int, str)](values: list[T]) -> T:
        return values[0]

    return (
        Alias.__value__, Alias.__type_params__, Box.__type_params__, Box.get.__type_params__,
        first([1]), first.__type_params__[0].__constraints__, Box[int, str, [int]],
        Box.__type_params__[0].__bound__, outcome(lambda: Alias[int].no_such),
    )  # fmt: skip


@program
def formatted_strings():
    word = "x"
    return f"{word!r} {f'{word}{f"{word}"}'} {'\n'.join([word, word])}"
