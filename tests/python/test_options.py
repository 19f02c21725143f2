"""The option table: four ways to set an option, unknown names, wrong types."""

from __future__ import annotations

import threading

import pytest

import triptych
from triptych.options import TABLE, resolve


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in TABLE.values():
        monkeypatch.delenv(option.variable, raising=False)
    assert resolve().as_dict() == {name: option.default for name, option in TABLE.items()}


def test_argument_wins_over_configure_wins_over_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRIPTYCH_MAX_VARIANTS", "3")
    assert resolve().max_variants == 3
    with triptych.configure(max_variants=4):
        assert resolve().max_variants == 4
        assert resolve({"max_variants": 5}).max_variants == 5
        with triptych.configure(strict=True):
            assert (resolve().max_variants, resolve().strict) == (4, True)
    assert resolve().max_variants == 3


def test_configure_is_undone_after_an_exception() -> None:
    with pytest.raises(RuntimeError), triptych.configure(max_variants=4):
        raise RuntimeError
    assert resolve().max_variants == TABLE["max_variants"].default


def test_configure_stays_in_its_thread() -> None:
    seen = []
    with triptych.configure(max_variants=4):
        thread = threading.Thread(target=lambda: seen.append(resolve().max_variants))
        thread.start()
        thread.join()
    assert seen == [TABLE["max_variants"].default]


def test_misspelt_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triptych.options._seen_variables", set())
    monkeypatch.setenv("TRIPTYCH_FUSEE", "1")
    monkeypatch.setenv("TRIPTYCH_MINE", "1")
    with pytest.warns(UserWarning, match="TRIPTYCH_FUSEE is not known: .* TRIPTYCH_FUSE?") as found:
        resolve()
        resolve()
    assert len(found) == 1


@pytest.mark.parametrize(("text", "value"), [("1", True), ("0", False), ("true", True)])
def test_boolean_variable(monkeypatch: pytest.MonkeyPatch, text: str, value: bool) -> None:
    monkeypatch.setenv("TRIPTYCH_FUSE", text)
    assert resolve().fuse is value


@pytest.mark.parametrize(
    ("variable", "text", "message"),
    [
        ("TRIPTYCH_FUSE", "perhaps", "expected 0 or 1"),
        ("TRIPTYCH_MAX_VARIANTS", "many", "TRIPTYCH_MAX_VARIANTS='many'"),
        ("TRIPTYCH_WRITER", "lvm", "did you mean 'llvm'"),
    ],
)
def test_bad_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, message: str
) -> None:
    monkeypatch.setenv(variable, text)
    with pytest.raises(ValueError, match=message):
        resolve()


def test_unknown_name_raises_with_the_closest() -> None:
    with pytest.raises(ValueError, match="unknown option 'max_variant': did you mean 'max_var"):
        resolve({"max_variant": 1})
    with pytest.raises(ValueError, match="did you mean 'strict'"), triptych.configure(stict=True):
        pass
    with pytest.raises(AttributeError, match="did you mean 'fuse'"):
        resolve().fused


def test_wrong_type_raises() -> None:
    with pytest.raises(TypeError, match="expected bool, found 1"):
        resolve({"strict": 1})
    with pytest.raises(TypeError, match="expected int, found True"):
        resolve({"max_variants": True})


def test_unknown_choice_raises() -> None:
    with pytest.raises(ValueError, match="did you mean 'llvm'"):
        resolve({"writer": "llm"})


def test_cache_key_holds_what_changes_code_and_nothing_else() -> None:
    key = resolve({}).cache_key()
    assert resolve({"strict": not resolve().strict}).cache_key() == key
    assert resolve({"fuse": not resolve().fuse}).cache_key() != key


def test_options_are_immutable() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        resolve().strict = True


def test_listed() -> None:
    assert {option.name for option in triptych.list_options()} == set(TABLE)
