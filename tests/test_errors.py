"""How what came is repeated in a message."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from psips.errors import SHOWN, listing, quote


@pytest.mark.parametrize("text", ["a  b", " x ", "two\nlines", ""])
def test_a_text_is_quoted_as_it_is(text: str) -> None:
    assert quote(text) == repr(text)


def test_what_prints_over_several_lines_is_quoted_in_one() -> None:
    assert quote(np.eye(2)) == "array([[1., 0.], [0., 1.]])"
    assert quote(pd.DataFrame({"a": [1, 2]})) == "a 0 1 1 2"


def test_of_a_long_thing_the_two_ends_are_quoted() -> None:
    text = quote("x" * 500 + "the end")
    assert len(text) == 200
    assert text.startswith("'xxx")
    assert text.endswith("e end'")
    assert len(quote(np.arange(10_000.0))) <= 200


@pytest.mark.parametrize("more", [-1, 0, 1, 2])
def test_a_list_is_cut_short_only_if_it_is_too_long(more: int) -> None:
    names = [str(number) for number in range(SHOWN + more)]
    found = listing(names)
    assert found.count("'") == 2 * min(SHOWN, len(names))
    assert found.endswith(f" and {more} more") == (more > 0)
