"""What was found in results that is not as assumed: what, where, how sure, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import Any, NamedTuple

from psips.diagnostics.lack_of_fit import Fit
from psips.input.digits import interval

WIDTH = 80
NAMED = 5  # places named in a sentence


@dataclass(frozen=True)
class Finding:
    """Something that is not as assumed.

    Parameters
    ----------
    kind : str
        ``"never measured"``, ``"kind"``, ``"outliers"``, ``"covariance"``,
        ``"unequal variances"``, ``"skewness"``, ``"drift"``, ``"autocorrelation"`` or
        ``"linear model"``.
    what : str
    where : tuple of str
        The lines or results, arms and objectives concerned.
    p_value : float or None
        Chance of something as striking, of this kind, in results that are as assumed; None
        where there is no chance about it.
    advice : str
        What to do.
    """

    kind: str
    what: str
    where: tuple[str, ...]
    p_value: float | None
    advice: str

    @property
    def chance(self) -> str:
        """The p-value as text; empty if there is none."""
        if self.p_value is None:
            return ""
        return f"p = {self.p_value:.2g}" if self.p_value > 1e-300 else "p < 1e-300"


class Scatter(NamedTuple):
    """Standard deviation of results of the same arm, as a multiple of the one given if any."""

    objective: str
    ratio: float  # the median of the arms, if each has its own
    low: float  # of its 95% interval; or the least of the arms
    high: float

    def __str__(self) -> str:
        if self.high == 0.0:
            return f"{self.objective} none (all results of an arm are alike)"
        return f"{self.objective} {interval(self.ratio, self.low, self.high)}"


@dataclass(frozen=True)
class Diagnosis:
    """Whether results satisfy the assumptions.

    Parameters
    ----------
    results : int
        How many were looked at.
    level : float
        Chance that anything is found in results that are as assumed, looked at once; the
        test of a linear model has a level of its own, see `psips.diagnostics.lack_of_fit`.
    findings : tuple of Finding
    untested : tuple of str
        What could not be tested, and why.
    scatter : tuple of Scatter
        By objective; empty if no arm has two results.
    fit : Fit or None
        With features: how the linear model fits.
    estimated : bool
        Whether the noise is to be estimated, so that there is nothing to compare it with.
    per_arm : bool
        Whether it is estimated for each arm by itself.
    assumed : str
        What is assumed of the results, by the kinds of their values.
    """

    results: int
    level: float
    findings: tuple[Finding, ...]
    untested: tuple[str, ...]
    scatter: tuple[Scatter, ...]
    fit: Fit | None = None
    estimated: bool = False
    per_arm: bool = False
    assumed: str = ""

    @property
    def deviations(self) -> tuple[Finding, ...]:
        """The findings that speak against an assumption, with a p-value each."""
        return tuple(one for one in self.findings if one.p_value is not None)

    @property
    def summary(self) -> str:
        """One line on what speaks against the assumptions; empty if nothing does."""
        kinds = ", ".join(one.kind for one in self.deviations)
        return f"the results are not as assumed: {kinds}" if kinds else ""

    @property
    def scatter_text(self) -> str:
        """How the results scatter, compared with the covariance given."""
        parts = ", ".join(map(str, self.scatter))
        given = "" if self.estimated else ", as a multiple of the one given"
        means = "median of the arms, least to largest" if self.per_arm else "95% interval"
        return (
            f"Standard deviation of results of the same arm{given} ({means}): {parts}."
            if parts
            else "No arm has two results, so nothing is known of the noise."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "results": self.results,
            "level": self.level,
            "findings": [asdict(one) for one in self.findings],
            "untested": list(self.untested),
            "scatter": [one._asdict() for one in self.scatter],
            "lack_of_fit": None if self.fit is None else self.fit.to_dict(),
        }

    def __str__(self) -> str:
        count = f"{self.results:,} result{'' if self.results == 1 else 's'}"
        head = f"{count} looked at: no violations of the assumptions found"
        if self.findings:
            several = "" if len(self.findings) == 1 else "s"
            head = f"{count} looked at, {len(self.findings)} finding{several}"
            if self.deviations:
                head += f" (by chance in at most {self.level:.3g} of such tables)"
        lines = [head, *_paragraph(self.scatter_text)]
        for one in self.findings:
            chance = f" ({one.chance})" if one.p_value is not None else ""
            lines += ["", *_paragraph(f"{one.kind}: {one.what}{chance}.")]
            lines += _paragraph(f"What to do: {one.advice}.", "  ")
        if self.untested:
            lines += ["", *_paragraph(f"Not tested: {'; '.join(self.untested)}.")]
        return "\n".join(lines)


def some(places: Sequence[str]) -> str:
    """List places, the first of many."""
    shown = ", ".join(places[:NAMED])
    return shown if len(places) <= NAMED else f"{shown} and {len(places) - NAMED} more"


def _paragraph(text: str, indent: str = "") -> list[str]:
    return wrap(text, WIDTH, initial_indent=indent, subsequent_indent="  ")
