"""The examples of the docs pages are run, and print what the pages show."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
import torch

import triptych

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if ">>> " in page.read_text()]


def test_there_is_an_example_from_normalize_to_a_call() -> None:
    text = (DOCS / "normalize.md").read_text()
    assert "triptych.generate(graph)" in text and "program(*inputs)" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path) -> None:
    names = {"torch": torch, "triptych": triptych}
    example = doctest.DocTestParser().get_doctest(page.read_text(), names, page.name, None, 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
        example, out=said.append
    )
    assert result.attempted > 0
    assert result.failed == 0, "".join(said)
