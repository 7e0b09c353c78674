"""The features of arms and answers as users give them, with an intercept where one is due."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.errors import InputError
from psips.input.checks import (
    RANK,
    check_span,
    merge_rows,
    read_answers,
    read_table,
)
from psips.problem.coordinates import units_of

INTERCEPT = "intercept"  # name of the feature that is 1 everywhere
CONSTANT = 1e-8  # distance from a constant, relative to it, below which features span it


class Design(NamedTuple):
    """Arms and answers of a linear problem."""

    arms: tuple[str, ...]
    answers: tuple[str, ...]  # first name of each distinct answer
    aliases: dict[str, tuple[str, ...]]  # each answer's names, the first one included
    features: Floats  # (K, h)
    answer_features: Floats  # (n, h)
    feature_names: tuple[str, ...]
    intercept: bool  # the last feature is one that was added


def read_design(
    features: object,
    arms: Iterable[object] | int | None,
    answers: object,
    intercept: bool | None,
) -> Design:
    """Read the features of the arms and, if they are others, of the answers.

    Examples
    --------
    >>> read_design([[0.0], [1.0]], ["A", "B"], None, None).feature_names
    ('feature 1', 'intercept')
    """
    pulled = read_table("arm", features, arms)
    asked = pulled
    if answers is not None:
        asked = read_answers(answers, pulled)
        check_span(pulled.rows, asked.rows)
    kept, group = merge_rows(asked.rows)
    names: list[list[str]] = [[] for _ in kept]
    for answer, which in zip(asked.names, group, strict=True):
        names[which].append(answer)
    rows, rows_asked = pulled.rows, asked.rows
    columns = pulled.columns or tuple(f"feature {c + 1}" for c in range(rows.shape[1]))
    added = _decide_intercept(rows, rows_asked, intercept)
    if added:
        if INTERCEPT in columns:
            raise InputError(
                f"there is a feature {INTERCEPT!r} that is not 1 everywhere, the name of the "
                f"one to be added: rename it, or give intercept=False"
            )
        columns += (INTERCEPT,)
        rows, rows_asked = _add_intercept(rows, rows_asked)
    return Design(
        pulled.names,
        tuple(same[0] for same in names),
        {same[0]: tuple(same) for same in names},
        rows,
        rows_asked[kept],
        columns,
        added,
    )


def _decide_intercept(arms: Floats, answers: Floats, asked: bool | None) -> bool:
    """Whether to fit an intercept: unless the features span a constant, or as ``asked``.

    Examples
    --------
    >>> one_hot, line = np.eye(2), np.array([[0.0], [1.0]])
    >>> _decide_intercept(one_hot, one_hot, None), _decide_intercept(line, line, None)
    (False, True)
    """
    if asked is False:
        return False
    rows = np.vstack([arms, answers])
    ones = np.ones(len(rows))
    scaled = rows / units_of(rows)
    rest = ones - scaled @ np.linalg.lstsq(scaled, ones, rcond=RANK)[0]
    spans = bool(np.linalg.norm(rest) <= CONSTANT * np.linalg.norm(ones))
    if asked and spans:
        raise InputError(
            "intercept=True was given, but a combination of the features is 1 everywhere, so "
            "that they have an intercept already: leave intercept out"
        )
    return not spans


def _add_intercept(arms: Floats, answers: Floats) -> tuple[Floats, Floats]:
    """Append a column of ones to the features of arms and answers."""
    A = np.column_stack([arms, np.ones(len(arms))])
    Z = np.column_stack([answers, np.ones(len(answers))])
    try:
        check_span(A, Z)
    except InputError as error:
        raise InputError(
            f"with an intercept {error}, or leave the intercept out with intercept=False"
        ) from None
    return A, Z
