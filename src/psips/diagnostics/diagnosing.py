"""All tests on one table, each at its share of the level, and their findings in words.

Results so far from the others that they must be slips are found first and left out of the other
tests, so that one wrong line is one finding. If there are many of them, they are no slips but
the noise, and the other tests see them too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psips.aliases import Floats, Ints
from psips.diagnostics.deviations import (
    LEAST,
    Found,
    autocorrelation,
    drift,
    furthest,
    skewness,
    unequal_variances,
    wrong_covariance,
)
from psips.diagnostics.findings import Diagnosis, Finding, Scatter, some
from psips.diagnostics.lack_of_fit import Fit, fit_of_sums
from psips.diagnostics.residuals import Residuals, residuals_of
from psips.errors import quote
from psips.input.digits import fixed
from psips.problem import Problem
from psips.problem.noise import KNOWN, PER_ARM

LEVEL = 0.01  # of all tests together, for a table that is looked at once
LOOKS = 0.001  # the same where people look again and again
TESTS = 6
ALONE = 5  # results from which on an arm's own standard deviation is used, if noise is per arm
FEW = 50  # one result in so many may be a slip,
MOST = 20  # and no more than so many


def diagnose(
    problem: Problem,
    arms: Ints,
    values: Floats,
    places: Sequence[str],
    level: float = LEVEL,
    fit: Fit | None = None,
) -> Diagnosis:
    """Look for what is not as assumed.

    Parameters
    ----------
    problem : Problem
    arms : (N,) array of int
        Positions in ``problem.arms``, in the order of time.
    values : (N, d) array
        In the user's orientation; results with holes (NaN) are left out.
    places : sequence of str
        What to call each result, as in "line 7".
    level : float
        Chance that anything is found in results that are as assumed.
    fit : Fit, optional
        How a linear model fits, if it is known already.
    """
    pulls = np.bincount(arms, minlength=problem.K)
    findings = _never_measured(problem, pulls)
    if len(arms) == 0:
        return Diagnosis(0, level, tuple(findings), ("everything: there are no results",), ())
    own = level / TESTS
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    holes = len(arms) - len(whole)
    arms, values = arms[whole], problem.compared(values[whole])
    named = [places[row] for row in whole.tolist()]
    if len(arms) == 0:
        nothing = "everything: no result has all its values"
        return Diagnosis(holes, level, tuple(findings), (nothing,), ())
    slips, kept = _slips(problem, arms, values, named, own)
    findings += slips
    arms, values = arms[kept], values[kept]
    measured = np.unique(arms)
    found = residuals_of(arms, values / _units(problem, arms, values))
    untested = _untested(problem, found)
    if holes:
        untested.append(f"{holes} results that lack a value")
    spread = _scatter(problem, found if problem.noise == KNOWN else residuals_of(arms, values))
    findings += _covariance(problem, found, spread, own)
    findings += _variances(problem, found, measured, own)
    findings += [] if problem.blocks else _as_if_alone(problem, found, own)
    fit = fit or _fit(problem, arms, values)
    findings += _lack_of_fit(fit)
    total = len(places)
    estimated = problem.noise != KNOWN
    return Diagnosis(total, level, tuple(findings), tuple(untested), spread, fit, estimated)


def _as_if_alone(problem: Problem, found: Residuals, own: float) -> list[Finding]:
    """Do the tests whose laws are those of independent results."""
    findings = _skewness(problem, found, own)
    trends, left = drift(found)
    trends = [one for one in trends if one.p_value < own]
    findings += _drift(problem, trends)
    return findings + _autocorrelation(problem, left if trends else found, own)


def _units(problem: Problem, arms: Ints, values: Floats) -> Floats:
    """Return standard deviations in which to reckon: as given, or those of the results.

    Of shape (d,), or (N, d) where every arm has its own.
    """
    given = problem.covariance
    if given is not None:
        sd = np.sqrt(np.diagonal(given, axis1=-2, axis2=-1))
        return np.asarray(sd if given.ndim == 2 else sd[arms])
    found = residuals_of(arms, values)
    pooled = np.sqrt(found.squares / max(found.freedom, 1))
    pooled = np.where(pooled > 0, pooled, 1.0)
    if problem.noise != PER_ARM:
        return pooled
    squares = np.zeros((int(found.arms.max()) + 1, problem.d))
    np.add.at(squares, found.arms, found.values**2)
    own = np.sqrt(squares[found.arms] / np.maximum(found.sizes - 1, 1)[:, None])
    return np.where((found.sizes >= ALONE)[:, None] & (own > 0), own, pooled)


def _scatter(problem: Problem, found: Residuals) -> tuple[Scatter, ...]:
    """Compare the scatter of results of the same arm with the covariance given, if it is."""
    if found.freedom < 1:
        return ()
    from scipy.special import chdtri

    ratios = np.sqrt(found.squares / found.freedom)
    low, high = np.sqrt(found.freedom / chdtri(found.freedom, np.array([0.025, 0.975])))
    return tuple(
        Scatter(name, float(r), float(r * low), float(r * high))
        for name, r in zip(problem.objectives, ratios, strict=True)
    )


def _never_measured(problem: Problem, pulls: Ints) -> list[Finding]:
    """Name arms without results; with features nothing is missing without them."""
    missing = [arm for arm, n in zip(problem.arms, pulls, strict=True) if n == 0]
    if not missing or not problem.unstructured:
        return []
    names = some([quote(arm) for arm in missing])
    several = len(missing) > 1
    what = f"arms {names} have no results" if several else f"arm {names} has no result"
    advice = "measure them" if several else "measure it"
    return [
        Finding(
            "never measured",
            what,
            tuple(missing),
            None,
            f"{advice}, or leave out of the design what is not to be measured: nothing is "
            "concluded before every arm has a result",
        )
    ]


def _slips(
    problem: Problem, arms: Ints, values: Floats, places: Sequence[str], own: float
) -> tuple[list[Finding], Ints]:
    """Find results that are too far from the others, one after the other."""
    most = min(MOST, max(1, len(arms) // FEW))
    kept = np.arange(len(arms))
    seen: list[tuple[int, Found]] = []
    scaled = values / _units(problem, arms, values)
    shown = problem.measured(values)
    while len(seen) <= most:
        far = furthest(residuals_of(arms[kept], scaled[kept]))
        if not far or far[0].p_value >= own:
            break
        row = int(kept[far[0].place[0]])
        seen.append((row, far[0]))
        kept = kept[kept != row]
    if not seen:
        return [], kept
    many = len(seen) > most
    words = []
    for row, one in seen:
        objective, arm = problem.objectives[one.place[1]], problem.arms[arms[row]]
        pair = np.sum(arms == arms[row]) == 2  # and either of the two may be wrong
        whose = "the only other one of the arm" if pair else "the others of the arm"
        words.append(
            f"{places[row]}: {objective} = {shown[row, one.place[1]]:g} of arm {quote(arm)} "
            f"is {abs(one.size):.1f} standard deviations from {whose}"
        )
    advice = (
        "look the value up and correct it, or leave the result out and write down why; if it "
        "is right, the noise has rare large deviations, and what is promised does not hold"
    )
    if many:
        advice = (
            "so many are hardly slips: the noise has heavy tails. Look for results of another "
            "kind among them, or transform the values"
        )
    where = tuple(places[row] for row, _ in seen)
    more = "at least " if many else ""
    what = f"{more}{len(seen)} too far to be noise; {some(words)}" if many else some(words)
    finding = Finding("outliers", what, where, seen[0][1].p_value, advice)
    return [finding], np.arange(len(arms)) if many else kept


def _untested(problem: Problem, found: Residuals) -> list[str]:
    f, d = found.freedom, problem.d
    short = f"that takes {{}} results more than arms that have any, and there are {f}"
    untested = []
    if problem.blocks:
        untested.append("skewness, drift and autocorrelation (results share items)")
    if f < d:
        untested.append(f"the covariance ({short.format(d)})")
    if f < 3:
        untested.append(f"outliers, unequal variances and drift ({short.format(3)})")
    if f < LEAST and not problem.blocks:
        untested.append(f"skewness and autocorrelation ({short.format(LEAST)})")
    if not np.all(found.squares > 0) and f > 0:
        same = [o for o, s in zip(problem.objectives, found.squares, strict=True) if not s > 0]
        untested.append(
            "outliers, unequal variances, skewness, drift and autocorrelation (all results of "
            f"an arm are the same in {some(same)})"
        )
    return untested


def _covariance(
    problem: Problem, found: Residuals, spread: Sequence[Scatter], own: float
) -> list[Finding]:
    if problem.covariance is None or problem.covariance.ndim == 3:
        return []  # estimated, or different for every arm
    sd = np.sqrt(np.diag(problem.covariance))
    given = problem.covariance / np.outer(sd, sd)
    p = wrong_covariance(found, given)
    if p is None or p >= own:
        return []
    with np.errstate(invalid="ignore"):
        own_sd = np.sqrt(found.squares)
        seen = found.values.T @ found.values / np.outer(own_sd, own_sd)
    words = [
        f"standard deviation of {one.objective} {one.ratio:.3g} times the one given"
        for one in spread
    ]
    off = np.nan_to_num(np.abs(seen - given))  # what never varies has no correlation
    i, j = np.unravel_index(np.argmax(off), off.shape)
    if i != j:
        pair = f"{problem.objectives[i]} and {problem.objectives[j]}"
        words.append(
            f"correlation of {pair} {fixed(seen[i, j], 2)}, given {fixed(given[i, j], 2)}"
        )
    large = max(one.ratio for one in spread) > 1
    advice = (
        "register the covariance that was seen (psips init estimates it), or find out why the "
        "results scatter more than expected: with too small a covariance more than delta of "
        "the sets may be wrong"
        if large
        else "register the covariance that was seen (psips init estimates it): with one that "
        "is too large nothing is wrong, but it takes more samples than needed"
    )
    return [Finding("covariance", "; ".join(words), tuple(problem.objectives), p, advice)]


def _variances(problem: Problem, found: Residuals, measured: Ints, own: float) -> list[Finding]:
    seen = sorted(one for one in unequal_variances(found) if one.p_value < own)
    if not seen or problem.noise == PER_ARM:
        return []
    words = [
        f"variance of {problem.objectives[c]} of arm {quote(problem.arms[measured[a]])} "
        f"{one.size:.2g} times that of the other arms"
        for one in seen
        for a, c in [one.place]
    ]
    where = tuple(dict.fromkeys(problem.arms[measured[one.place[0]]] for one in seen))
    each = "as estimated for each arm (covariance = 'per-arm')"
    if not problem.unstructured:
        each = "with a covariance for each arm"
    advice = (
        f"register the noise {each}, or transform the values (transform = 'log', if the noise "
        "grows with the mean)"
    )
    return [Finding("unequal variances", some(words), where, seen[0].p_value, advice)]


def _skewness(problem: Problem, found: Residuals, own: float) -> list[Finding]:
    seen = sorted(one for one in skewness(found) if one.p_value < own)
    if not seen:
        return []
    words = [
        f"skewness of {problem.objectives[c]} {one.size:.2g}" for one in seen for c in one.place
    ]
    advice = (
        "transform the values so that deviations upwards and downwards are alike (logarithms, "
        "if all are positive) and register the design again: the means of the transformed "
        "values are then compared"
    )
    return [_finding("skewness", words, problem, seen, advice)]


def _drift(problem: Problem, seen: Sequence[Found]) -> list[Finding]:
    if not seen:
        return []
    words = [
        f"{problem.objectives[c]} changes by {one.size:+.2g} standard deviations from the "
        "first result to the last, whatever the arm"
        for one in sorted(seen)
        for c in one.place
    ]
    advice = (
        "look for what has changed (an instrument, a batch, a season), and measure the arms in "
        "random order, so that it strikes all of them alike"
    )
    return [_finding("drift", words, problem, seen, advice)]


def _autocorrelation(problem: Problem, found: Residuals, own: float) -> list[Finding]:
    seen = sorted(one for one in autocorrelation(found) if one.p_value < own)
    if not seen:
        return []
    words = [
        f"results of {problem.objectives[c]} that follow one another have the correlation "
        f"{one.size:.2f}"
        for one in seen
        for c in one.place
    ]
    advice = (
        "psips takes results for independent, and more than delta of the sets may be wrong if "
        "they are not: measure the arms in random order, and leave time between results"
    )
    return [_finding("autocorrelation", words, problem, seen, advice)]


def _finding(
    kind: str, words: list[str], problem: Problem, seen: Sequence[Found], advice: str
) -> Finding:
    where = tuple(problem.objectives[c] for one in seen for c in one.place)
    return Finding(kind, some(words), where, min(one.p_value for one in seen), advice)


def _fit(problem: Problem, arms: Ints, values: Floats) -> Fit | None:
    if problem.features is None:
        return None
    sums = np.zeros((problem.K, problem.d))
    np.add.at(sums, arms, problem.inward(values))
    pulls = np.bincount(arms, minlength=problem.K).astype(np.float64)
    squares = None if problem.noise == KNOWN else residuals_of(arms, values).squares
    return fit_of_sums(problem, pulls, sums, squares)


def _lack_of_fit(fit: Fit | None) -> list[Finding]:
    if fit is None or not fit.rejected:
        return []
    where = tuple(one.arm for one in fit.deviations)
    advice = (
        "add features that tell these arms apart (squares, products), or leave the features "
        "out, so that every arm has a mean of its own"
    )
    return [Finding("linear model", str(fit), where, fit.p_value, advice)]
