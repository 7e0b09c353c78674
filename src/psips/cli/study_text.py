"""What the commands of ``psips study`` read from options and say about a study."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from psips.study import Receipt, Study


def values_of(opened: Study, given: list[str] | None) -> dict[str, float]:
    """Read ``objective=number`` as often as it was given."""
    from psips.errors import InputError, quote
    from psips.quantities import parse_number

    values: dict[str, float] = {}
    for text in given or []:
        objective, equals, number = text.rpartition("=")
        if not equals or not objective:
            raise InputError(f"--value must be objective=number, got {quote(text)}")
        if objective in values:
            raise InputError(f"objective {quote(objective)} has several values: give one")
        values[objective] = parse_number(f"the value of {quote(objective)}", number)
    if not values:
        objectives = " ".join(f"--value {o}=..." for o in opened.problem.objectives)
        raise InputError(f"the result has no values: add {objectives}")
    return values


def rows_of(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return a table as plain data by row; None for what is not known."""
    return {
        str(name): {str(key): finite(cell) for key, cell in row.items()}
        for name, row in table.to_dict(orient="index").items()
    }


def finite(cell: Any) -> Any:
    """Return a cell as JSON can hold it."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def verdict_of(opened: Study) -> str:
    """Say what a stopped study found."""
    from psips.lack_of_fit import fit_of

    fit = fit_of(opened.problem, opened.state.session.engine)
    caveat = "" if fit is None else fit.caveat
    return f"stopped; Pareto set: {', '.join(opened.candidate_set)}{caveat}"


def recorded(receipt: Receipt) -> str:
    """Say which results were recorded."""
    new = receipt.results
    known = f", known already {receipt.known}" if receipt.known else ""
    if not new:
        return f"recorded nothing{known}"
    if len(new) == 1:
        return f"recorded result {new[0]}{known}"
    return f"recorded {len(new)} results, {new[0]} to {new[-1]}{known}"


def held(receipt: Receipt) -> str:
    """Say which of the results do not count yet, a line each, and what releases them."""
    return "".join(
        f"\nresult {number} is beyond what the noise allows: it is held, and does not count "
        "until it is confirmed or corrected (psips study confirm, correct), or a second result "
        "of an arm without others agrees with it"
        for number in receipt.held
    )


def progress_of(opened: Study) -> str:
    """Say whether the study has stopped, and if not how far it is."""
    from psips.status import progress_of as share_of

    if opened.stopped:
        return verdict_of(opened)
    session = opened.state.session
    counted = f"{session.results:,} result{'' if session.results == 1 else 's'} in all"
    share = share_of(session.problem, session.engine)
    return f"not stopped: {counted}, {share:.0%} of the way"
