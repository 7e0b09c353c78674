"""Names, tables and matrices as users give them, checked and made uniform."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from psips.aliases import Floats, Ints
from psips.errors import InputError, check_distinct, check_keys, quote, unknown
from psips.input.names import check_apart, check_name, check_reserved
from psips.input.quantities import as_float

DIRECTIONS = ("max", "min")
ROLES = (*DIRECTIONS, "limit")  # the last of a metric that is limited and no objective
SPELLINGS = {
    f"{way}{ending}": way for way in DIRECTIONS for ending in ("imize", "imise", "imum")
}
SAME = 1e-12  # features closer than this, relative to their column's largest, are equal
RANK = 1e-10  # relative singular value below which a direction is not spanned
MAX_ARMS = 100_000  # arms, answers or features
MOST_OBJECTIVES = 100
LONGEST_ITEM, QUOTED_ITEM = 50_000, 50  # characters of an item's name, and those in a message

Nested = float | tuple[Any, ...]


class Table(NamedTuple):
    """Rows of numbers with names: what a DataFrame or a CSV file comes down to."""

    names: tuple[str, ...]
    columns: tuple[str, ...]  # empty if the columns have no names
    rows: Floats


def read_names(kind: str, given: Iterable[object]) -> tuple[str, ...]:
    """Distinct names: strings, or numbers, which are taken as names. Nothing else is.

    Examples
    --------
    >>> read_names("arm", ["A", 2])
    ('A', '2')
    >>> read_names("arm", [("A", "B")])
    Traceback (most recent call last):
    psips.errors.InputError: arm number 1 must be a name, got ('A', 'B'): give a text
    """
    names = _names(kind, given, _name)
    check_apart(kind, names)
    if kind == "objective":
        check_reserved(names)
    return names


def read_items(given: Iterable[object] | int) -> tuple[str, ...]:
    r"""Distinct names of items: any text, a whole question with its line breaks and emoji.

    A number of items stands for names from 1 to it.

    No one types them again, so that nothing in them is refused; they are escaped where they
    are shown.

    Examples
    --------
    >>> read_items(["What is 2 + 2?\n", 7]), read_items(2)
    (('What is 2 + 2?\n', '7'), ('1', '2'))
    """
    if not isinstance(given, bool) and isinstance(given, int | np.integer):
        if not 1 <= given <= MAX_ARMS:
            raise InputError(
                f"the number of items must be 1 to {MAX_ARMS:,}, got {quote(given)}"
            )
        given = range(1, int(given) + 1)
    return _names("item", given, _item)


def _names(kind: str, given: object, read: Callable[[str, Any], str]) -> tuple[str, ...]:
    most = MOST_OBJECTIVES if kind == "objective" else MAX_ARMS
    unordered = isinstance(given, set | frozenset)
    if isinstance(given, str | bytes) or unordered or not isinstance(given, Iterable):
        why = ", which has no order" if unordered else ""
        raise InputError(f"{kind}s must be a list of names, got {quote(given)}{why}")
    entries = list(islice(given, most + 1))
    if len(entries) > most:
        raise InputError(f"there are more than {most:,} {kind}s, which is the limit")
    names = tuple(read(f"{kind} number {i}", entry) for i, entry in enumerate(entries, start=1))
    check_distinct(kind, names)
    return names


def _name(what: str, given: Any) -> str:
    """Return one name, checked."""
    name = _text(what, given)
    check_name(what, name)
    return name


def _item(what: str, given: Any) -> str:
    """Return the name of an item; what no record can hold, half a character or NUL, escaped."""
    name = _text(what, given)
    if not name.strip():
        raise InputError(f"{what} has an empty name: give it one")
    if len(name) > LONGEST_ITEM:
        raise InputError(
            f"{what} has a name of {len(name):,} characters, {quote(name[:QUOTED_ITEM])} ...: "
            f"the limit is {LONGEST_ITEM:,}; name it by a number or a hash"
        )
    return name.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _text(what: str, given: Any) -> str:
    """Return a text, or a number as one."""
    if isinstance(given, str):
        name = str(given)  # NumPy has strings of its own
    else:
        number = as_float(given)
        if number is None or (np.isinf(number) and not isinstance(given, float)):
            raise InputError(f"{what} must be a name, got {quote(given)}: give a text")
        # An empty cell of a DataFrame's index arrives as nan.
        name = "" if np.isnan(number) else str(given)
    return name


def read_arms(given: Iterable[object] | int | None) -> tuple[str, ...]:
    """Names of arms, given or numbered from 1.

    Examples
    --------
    >>> read_arms(2)
    ('arm 1', 'arm 2')
    """
    if given is None:
        raise InputError("there are no arms: give their names, how many there are, or features")
    if isinstance(given, bool | np.bool_ | Mapping):
        raise InputError(
            f"arms must be a list of names or how many there are, got {quote(given)}"
        )
    if isinstance(given, int | np.integer):
        if given > MAX_ARMS:
            raise InputError(f"there are {quote(int(given))} arms: the limit is {MAX_ARMS:,}")
        return tuple(f"arm {i + 1}" for i in range(given))
    return read_names("arm", given)


def read_objectives(given: Any, default: str | None = DIRECTIONS[0]) -> Any:
    """Return objectives with pairs (name, direction) among them as a mapping.

    Names alone have the direction ``default``.

    Examples
    --------
    >>> read_objectives([("latency", "min"), "yield"])
    {'latency': 'min', 'yield': 'max'}
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        return given
    if not any(isinstance(entry, tuple | list) for entry in given):
        return given
    pairs = []
    for number, entry in enumerate(given, start=1):
        pair = entry if isinstance(entry, tuple | list) else (entry, default)
        if len(pair) != 2:
            raise InputError(
                f"objective {number} must be a name or a pair (name, direction), got "
                f"{quote(entry)}"
            )
        pairs.append(pair)
    names = read_names("objective", [name for name, _ in pairs])
    return dict(zip(names, [direction for _, direction in pairs], strict=True))


def read_direction(objective: object, given: Any, known: Sequence[str] = ROLES) -> str:
    """Return "max", "min" or "limit": what a direction comes down to, in any case and spelling.

    Examples
    --------
    >>> read_direction("cost", "Minimize"), read_direction("yield", "maximise")
    ('min', 'max')
    """
    word = given.strip().casefold() if isinstance(given, str) else ""
    word = SPELLINGS.get(word, word)
    if word not in known:
        raise unknown(f"direction of objective {quote(str(objective))}:", given, known)
    return word


def read_directions(objectives: Sequence[str], given: object) -> tuple[str, ...]:
    """One of "max", "min" and "limit" per objective; names alone are maximised."""
    if not isinstance(given, Mapping):
        return ("max",) * len(objectives)
    found = []
    for name, said in given.items():
        direction = said.get("direction", DIRECTIONS[0]) if isinstance(said, Mapping) else said
        found.append(read_direction(name, direction))
    return tuple(found)


def read_variances(
    objectives: Sequence[str], given: object, without: Sequence[str] = ()
) -> Floats:
    """Variances (d,) or a matrix (d, d), by position or by name, not looked at any further.

    Those of objectives ``without`` noise may be left out where there are names: they are 0.
    """
    d, nothing = len(objectives), dict.fromkeys(without, 0.0)
    if hasattr(given, "to_dict") and hasattr(given, "index"):  # a pandas Series or DataFrame
        given = given.to_dict()
    if isinstance(given, Mapping):
        square = any(isinstance(row, Mapping) for row in given.values())
        blank: dict[str, Any] = dict.fromkeys(without, {} if square else 0.0)
        rows = by_name("covariance", "objective", objectives, blank | _texts(given))
        everything = dict.fromkeys(objectives, 0.0)
        given = [
            by_name(
                "covariance", "objective", objectives, (nothing if row else everything) | row
            )
            if isinstance(row, dict)
            else row
            for row in map(_texts, rows)
        ]
    S = np.atleast_1d(_numbers("the covariance", given))
    if S.shape not in ((d,), (d, d)):
        raise InputError(
            f"the covariance must be {d} variances or a {d} x {d} matrix (one row per "
            f"objective), got shape {S.shape}"
        )
    return S


def _texts(given: Any) -> Any:
    """Return a mapping with texts for keys; anything else as it is."""
    return {str(k): v for k, v in given.items()} if isinstance(given, Mapping) else given


def read_covariance(objectives: Sequence[str], given: object) -> Floats:
    """Covariance matrix (d, d) from a matrix or from variances, by position or by name."""
    S = read_variances(objectives, given)
    variances = S if S.ndim == 1 else np.diag(S)
    for objective, variance in zip(objectives, variances, strict=True):
        if not (np.isfinite(variance) and variance > 0):
            raise InputError(
                f"the variance of objective {objective!r} must be positive and finite, "
                f"got {variance}"
            )
    if S.ndim == 1:
        return np.diag(S)
    for i, j in np.argwhere(~np.isfinite(S)):
        raise InputError(
            f"the covariance of objectives {objectives[i]!r} and {objectives[j]!r} "
            f"must be finite, got {S[i, j]}"
        )
    scale = np.sqrt(np.outer(variances, variances))
    for i, j in np.argwhere(np.abs(S - S.T) > 1e-9 * scale):
        raise InputError(
            f"the covariance is not symmetric: {S[i, j]} for ({objectives[i]!r}, "
            f"{objectives[j]!r}) but {S[j, i]} the other way round"
        )
    S = (S + S.T) / 2
    smallest = float(np.linalg.eigvalsh(S / scale)[0])
    if smallest < 1e-10:
        raise InputError(
            "the covariance is not positive definite: its correlation matrix has the "
            f"eigenvalue {smallest:.3g}"
        )
    return S


def read_table(kind: str, given: Any, names: Iterable[object] | int | None = None) -> Table:
    """Features with names, from a DataFrame, a Table, a pair (names, array) or an array.

    ``names`` picks rows of a table that has names, and names the rows of one that has none.

    Examples
    --------
    >>> read_table("arm", [[1, 0], [0, 1]], names=["A", "B"]).names
    ('A', 'B')
    """
    own: Iterable[object] | None = None
    columns: tuple[str, ...] = ()
    if isinstance(given, Table):
        own, columns, given = given
        columns = read_names("feature", columns)
    elif hasattr(given, "to_numpy") and hasattr(given, "columns"):  # a DataFrame
        own, columns = given.index, read_names("feature", given.columns)
        given = given.to_numpy()
    elif isinstance(given, tuple) and len(given) == 2 and kind == "answer":
        own, given = given
    labels = None if own is None else read_names(kind, own)
    rows = _numbers(f"the features of the {kind}s", given, labels, columns)
    if rows.ndim != 2 or rows.size == 0:
        raise InputError(
            f"the features of the {kind}s must be a table with one row per {kind} and one "
            f"column per feature, got shape {rows.shape}"
        )
    if labels is None:
        labels = read_arms(len(rows) if names is None else names)
        names = None
    if len(labels) != len(rows):
        raise InputError(f"there are {len(labels)} {kind}s but {len(rows)} rows of features")
    for row, c in np.argwhere(~np.isfinite(rows)):
        column = columns[c] if columns else str(c + 1)
        raise InputError(
            f"feature {column!r} of {kind} {labels[row]!r} is {rows[row, c]}: it must be finite"
        )
    if names is None:
        return Table(labels, columns, rows)
    wanted = read_arms(names)
    check_keys(kind, wanted, labels)
    position = {label: i for i, label in enumerate(labels)}
    return Table(wanted, columns, rows[[position[name] for name in wanted]])


def read_answers(given: object, arms: Table) -> Table:
    """Answers with as many features as the arms, in the arms' order if both name them."""
    named = isinstance(given, tuple) or hasattr(given, "columns")
    if not named:
        raise InputError("answers must be a DataFrame or a pair (names, array of features)")
    table = read_table("answer", given)
    width, expected = table.rows.shape[1], arms.rows.shape[1]
    if width != expected:
        raise InputError(f"answers have {width} features, but arms have {expected}")
    if not (table.columns and arms.columns):
        return table
    check_keys("feature of the answers", table.columns, arms.columns)
    order = [table.columns.index(column) for column in arms.columns]
    return Table(table.names, arms.columns, table.rows[:, order])


def merge_rows(rows: Floats) -> tuple[Ints, Ints]:
    """First row of each group of equal rows, and the group of every row.

    Examples
    --------
    >>> kept, group = merge_rows(np.array([[0.1 + 0.2], [1.0], [0.3]]))
    >>> kept.tolist(), group.tolist()
    ([0, 1], [0, 1, 0])
    """
    # Rows that differ by rounding are equal: in each column, values without a jump between
    # them share a label.
    labels = np.empty(rows.shape, dtype=np.int64)
    for c, column in enumerate(rows.T):
        order = np.argsort(column)
        jumps = np.diff(column[order]) > SAME * np.abs(column).max()
        labels[order, c] = np.concatenate(([0], np.cumsum(jumps)))
    _, first, group = np.unique(labels, axis=0, return_index=True, return_inverse=True)
    appearance = np.argsort(first)
    number = np.empty(len(first), dtype=np.int64)
    number[appearance] = np.arange(len(first))
    return first[appearance], number[group.ravel()]


def check_span(arms: Floats, answers: Floats) -> None:
    """Raise if some answer's mean could never be learned from the arms."""
    largest = np.maximum(np.abs(arms).max(axis=0), np.abs(answers).max(axis=0))
    largest[largest == 0.0] = 1.0
    _, s, basis = np.linalg.svd(arms / largest, full_matrices=False)
    basis = basis[s > RANK * s[0]]
    scaled = answers / largest
    left = scaled - scaled @ basis.T @ basis  # what the arms say nothing about
    missing = int(np.sum(np.linalg.svd(left, compute_uv=False) > 1e-8 * np.linalg.norm(scaled)))
    if missing:
        raise InputError(
            f"the arms do not span the answers: {missing} of the dimensions the answers need "
            f"cannot be measured (the features of the arms have rank {len(basis)}); "
            "add arms that span them"
        )


def read_positive(what: str, given: object) -> float:
    """Read a positive, finite number."""
    value = as_float(given)
    if value is None:
        raise InputError(f"{what} must be a number, got {quote(given)}")
    if not (np.isfinite(value) and value > 0):
        raise InputError(f"{what} must be positive and finite, got {quote(given)}")
    return value


def nested(what: str, given: object) -> Nested:
    """Finite numbers as a float or as nested tuples, so that they compare and print."""
    array = _numbers(what, given)
    if not np.all(np.isfinite(array)):
        raise InputError(f"{what} must be finite, got {quote(given)}")
    return _tuples(array.tolist())


def fit(what: str, given: Nested, shape: tuple[int, ...]) -> Floats:
    """Spread one number, or one per objective, over an array of the given shape."""
    array = np.array(given, dtype=np.float64)
    if array.shape not in ((), shape[-1:], shape):
        wanted = " or ".join(str(s) for s in dict.fromkeys((shape[-1:], shape)))
        raise InputError(
            f"{what} must be one number or an array of shape {wanted}, got shape {array.shape}"
        )
    return np.broadcast_to(array, shape).copy()  # a view could not be written to


def frozen(array: Floats) -> Floats:
    """Make an array read-only and return it."""
    array.setflags(write=False)
    return array


def _numbers(
    what: str, given: Any, names: Sequence[str] | None = None, columns: Sequence[str] = ()
) -> Floats:
    """Convert to float64, naming the cell that cannot be; texts and truth values are not."""
    if isinstance(given, np.ndarray) and given.dtype.kind in "iuf":
        return np.array(given, dtype=np.float64, order="C")
    try:
        cells = np.array(given, dtype=object, order="C")
    except ValueError:
        raise InputError(f"{what} must be numbers in a rectangular array") from None
    values = np.empty(cells.shape)
    for place, cell in np.ndenumerate(cells):
        value = as_float(cell)
        if value is None:
            if isinstance(cell, list | tuple):
                raise InputError(f"{what} must be numbers in a rectangular array")
            where = ""
            if names is not None and len(place) == 2 and place[0] < len(names):
                column = columns[place[1]] if columns else str(place[1] + 1)
                where = f" for {quote(names[place[0]])}, column {quote(column)}"
            raise InputError(f"{what} must be numbers, got {quote(cell)}{where}")
        values[place] = value
    return values


def _tuples(value: Any) -> Nested:
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else float(value)


def by_name(what: str, kind: str, names: Sequence[str], given: Mapping[Any, Any]) -> list[Any]:
    """Return what is given by name, in the order of the names; each must have an entry.

    Examples
    --------
    >>> by_name("prior", "arm", ["A", "B"], {"B": 1, "A": 2})
    [2, 1]
    >>> by_name("prior", "arm", ["A", "B"], {"B": 1})
    Traceback (most recent call last):
    psips.errors.InputError: the prior has no entry for arm 'A'
    """
    named = {str(key): value for key, value in given.items()}
    check_keys(f"{kind} in the {what}", named, names)
    for name in names:
        if name not in named:
            raise InputError(f"the {what} has no entry for {kind} {quote(name)}")
    return [named[name] for name in names]
