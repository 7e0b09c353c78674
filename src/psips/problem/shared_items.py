"""Which problems may have results that share items."""

from __future__ import annotations

from psips.errors import InputError
from psips.problem.noise import KNOWN, WIDEST


def check_items(unstructured: bool, noise: str, guess: object, partial: bool) -> None:
    """Refuse what cannot be combined with shared items."""
    what = ""
    if not unstructured:
        what, instead = "features", "leave the features out"
    elif noise == KNOWN or guess is not None:
        what = "a covariance or a guess of it"
        instead = (
            "leave it out, so that the variance between items and within them is estimated"
        )
    elif partial:
        what, instead = "missing values", "leave such results out, or the items"
    if what:
        raise InputError(f"items shared by the arms cannot be combined with {what}: {instead}")


def check_number_of_arms(K: int, d: int) -> None:
    """Refuse more arms than their whole covariance has room for."""
    if K * d > WIDEST:
        raise InputError(
            f"items may be shared by {WIDEST // d:,} arms in {d} objectives at most, got "
            f"{K:,}: leave out arms that are clearly worse"
        )
