"""``psips study rank``: choose from the options that are known to be Pareto-optimal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.reading import DEFAULT, open_study
from psips.cli.screen import examples, show
from psips.cli.study import study
from psips.cli.study_options import Json, Name, StoreUrl

if TYPE_CHECKING:
    import pandas as pd

Weights = Annotated[
    list[str] | None,
    typer.Option(
        "--weight",
        metavar="OBJECTIVE=NUMBER",
        help="Weight of an objective in the score (repeat for more).",
    ),
]
Reference = Annotated[
    list[str] | None,
    typer.Option(
        "--reference",
        metavar="OBJECTIVE=NUMBER",
        help="Value to beat, one for every objective; the smallest lead counts.",
    ),
]


@study.command(
    epilog=examples(
        "psips study rank trial --weight efficacy=2 --weight cost=1",
        "psips study rank trial --reference efficacy=3 --reference cost=10",
    )
)
def rank(
    name: Name,
    weight: Weights = None,
    reference: Reference = None,
    store: StoreUrl = DEFAULT,
    as_json: Json = False,
) -> None:
    """Order the optimal options by your preference. Says how sure the order is."""
    weights, point = numbers("--weight", weight), numbers("--reference", reference)
    with open_study(name, store) as opened:
        from psips.session.preference import in_words

        found = opened.rank(weights=weights, reference=point)
        plain = {"options": _rows(found), "weights": weights, "reference": point}
        show(plain, f"{_table(found)}\n\n{in_words(found)}", as_json)


def numbers(option: str, given: list[str] | None) -> dict[str, float] | None:
    """Read ``objective=number`` as often as it was given; None if it was not."""
    from psips.errors import InputError, quote
    from psips.input.quantities import parse_number

    found: dict[str, float] = {}
    for text in given or []:
        objective, equals, number = text.rpartition("=")
        if not equals or not objective:
            raise InputError(f"{option} must be objective=number, got {quote(text)}")
        if objective in found:
            raise InputError(f"{option} names {quote(objective)} twice: give one number")
        found[objective] = parse_number(f"{option} {quote(objective)}", number)
    return found or None


def _rows(found: pd.DataFrame) -> list[dict[str, object]]:
    from psips.study.plain import rows_of

    rows = rows_of(list(found.index), {str(name): found[name] for name in found})
    return [{"option": name, **row} for name, row in rows.items()]


def _table(found: pd.DataFrame) -> str:
    from psips.input.digits import chance, estimate
    from psips.session.status_text import cut

    names = [cut(str(name)) for name in found.index]
    left = max(map(len, ["option", *names]))
    scores = [estimate(*pair) for pair in zip(found["score"], found["se"], strict=True)]
    width = max(map(len, ["score", *scores]))
    head = f"{'option':{left}}  {'score':>{width}}  probability of being best"
    lines = [
        f"{name:{left}}  {score:>{width}}  {chance(best)}"
        for name, score, best in zip(names, scores, found["best"], strict=True)
    ]
    return "\n".join([head, *lines])
