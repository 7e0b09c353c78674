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
    LEAST_FREEDOM,
    Found,
    autocorrelation,
    drift,
    skewness,
    unequal_variances,
    wrong_covariance,
)
from psips.diagnostics.findings import Diagnosis, Finding, Scatter, some
from psips.diagnostics.kinds import Kinds, back, kinds_of, not_registered, on, testable
from psips.diagnostics.lack_of_fit import Fit, fit_of_sums
from psips.diagnostics.noise_scale import WORTH
from psips.diagnostics.outliers import find_outliers
from psips.diagnostics.residuals import Residuals, residuals_of
from psips.errors import quote
from psips.input.digits import fixed
from psips.laws import spread_of_sd
from psips.problem import Problem
from psips.problem.noise import KNOWN, PER_ARM

LEVEL = 0.01  # of all tests together, for a table that is looked at once
LOOKS = 0.001  # the same where people look again and again
TESTS = 6


def diagnose(
    problem: Problem,
    arms: Ints,
    values: Floats,
    places: Sequence[str],
    level: float = LEVEL,
    fit: Fit | None = None,
    any_law: bool = False,
) -> Diagnosis:
    """Look for what is not as assumed.

    Parameters
    ----------
    problem : Problem
    arms : (N,) array of int
        Positions in ``problem.arms``, in the order of time.
    values : (N, d) array
        In the user's orientation; missing values (NaN) are left out.
    places : sequence of str
        What to call each result, as in "line 7".
    level : float
        Chance that anything is found in results that are as assumed.
    fit : Fit, optional
        How a linear model fits, if it is known already.
    any_law : bool
        Whether of objectives with a range nothing else is assumed, see
        `psips.diagnostics.kinds`.
    """
    pulls = np.bincount(arms, minlength=problem.K)
    findings = _never_measured(problem, pulls)
    if len(arms) == 0:
        return Diagnosis(0, level, tuple(findings), ("everything: there are no results",), ())
    own = level / TESTS
    whole = np.flatnonzero(np.isfinite(values).all(axis=1))
    incomplete = len(arms) - len(whole)
    arms, values = arms[whole], problem.compared(values[whole])
    named = [places[row] for row in whole.tolist()]
    if len(arms) == 0:
        nothing = "everything: no result has all its values"
        return Diagnosis(incomplete, level, tuple(findings), (nothing,), ())
    kinds = kinds_of(problem, values, any_law)
    findings += not_registered(problem, kinds)
    normal = np.flatnonzero(kinds.normal)
    units = _units(problem, arms, values)
    slips, kept = find_outliers(problem, arms, values, units, normal, named, own)
    findings += slips
    arms, values = arms[kept], values[kept]
    measured = np.unique(arms)
    found = residuals_of(arms, values / _units(problem, arms, values))
    untested = _untested(problem, kinds, found)
    if incomplete:
        untested.append(f"{incomplete} results that lack a value")
    plain = residuals_of(arms, values)
    spread = _scatter(problem, found if problem.noise == KNOWN else plain)
    normal = normal[found.squares[normal] > 0.0]
    findings += _covariance(problem, found, spread, np.flatnonzero(kinds.normal), own)
    findings += _variances(problem, found, normal, measured, own)
    if not problem.has_items:
        findings += _skewness(problem, found, normal, values, own)
        ordered, few = testable(problem, kinds, found, values - plain.values)
        findings += _in_time(problem, found, ordered, own)
        untested += few
    fit = fit or _fit(problem, arms, values)
    findings += _lack_of_fit(fit)
    return Diagnosis(
        *(len(places), level, tuple(findings), tuple(untested), spread, fit),
        estimated=problem.noise != KNOWN,
        per_arm=problem.noise == PER_ARM,
        assumed=kinds.text(problem),
    )


def _in_time(problem: Problem, found: Residuals, columns: Ints, own: float) -> list[Finding]:
    """Do the tests that look at the order of results."""
    trends, left = drift(on(found, columns)) if len(columns) else ([], found)
    trends = [one for one in trends if one.p_value < own]
    findings = _drift(problem, back(trends, columns))
    followed = left if trends else on(found, columns)
    seen = autocorrelation(followed) if len(columns) else []
    return findings + _autocorrelation(
        problem, back([one for one in seen if one.p_value < own], columns)
    )


def _units(problem: Problem, arms: Ints, values: Floats) -> Floats:
    """Return standard deviations to compare in: as given, or those of the results.

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
    own, free, usual = _of_each_arm(found, pooled)
    return np.sqrt((WORTH * usual**2 + free * own**2) / (WORTH + free))[found.arms]


def _of_each_arm(found: Residuals, pooled: Floats) -> tuple[Floats, Floats, Floats]:
    """Return each arm's standard deviation (A, d), its degrees of freedom, and a usual one."""
    counts = np.bincount(found.arms).astype(np.float64)
    squares = np.zeros((len(counts), found.values.shape[1]))
    np.add.at(squares, found.arms, found.values**2)
    free = (counts - 1.0)[:, None]
    own = np.sqrt(squares / np.maximum(free, 1.0))
    several = own[counts > 2]
    usual = np.median(several, axis=0) if len(several) else pooled
    return own, free, np.where(usual > 0.0, usual, pooled)


def _scatter(problem: Problem, found: Residuals) -> tuple[Scatter, ...]:
    """Compare the scatter of results of the same arm with the covariance given, if it is.

    Of noise that is estimated for each arm: the median, the least and the largest.
    """
    if found.freedom < 1:
        return ()
    if problem.noise == PER_ARM:
        own, free, _ = _of_each_arm(found, np.ones(problem.d))
        own = own[free[:, 0] > 0]
        ends = (np.median(own, axis=0), own.min(axis=0), own.max(axis=0))
        return tuple(
            Scatter(name, *map(float, row))
            for name, row in zip(problem.objectives, np.transpose(ends), strict=True)
        )
    ratios = np.sqrt(found.squares / found.freedom)
    low, high = spread_of_sd(found.freedom)
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


def _untested(problem: Problem, kinds: Kinds, found: Residuals) -> list[str]:
    f, d = found.freedom, problem.d
    short = f"that takes {{}} results more than arms that have any, and there are {f}"
    untested = []
    normal = bool(kinds.normal.any())
    in_time = "drift and autocorrelation"
    if problem.has_items:
        untested.append(f"{'skewness, ' if normal else ''}{in_time} (results share items)")
    if f < d:
        untested.append(f"the covariance ({short.format(d)})")
    elif problem.covariance is not None and not normal:
        untested.append("the covariance (no value is taken for normal)")
    if f < 3:
        first = "outliers, unequal variances and drift" if normal else "drift"
        untested.append(f"{first} ({short.format(3)})")
    if f < LEAST_FREEDOM and not problem.has_items:
        first = "skewness and autocorrelation" if normal else "autocorrelation"
        untested.append(f"{first} ({short.format(LEAST_FREEDOM)})")
    if not np.all(found.squares > 0) and f > 0:
        same = [o for o, s in zip(problem.objectives, found.squares, strict=True) if not s > 0]
        untested.append(f"{some(same)} (all results of an arm are the same)")
    return untested


def _covariance(
    problem: Problem, found: Residuals, spread: Sequence[Scatter], columns: Ints, own: float
) -> list[Finding]:
    if problem.covariance is None or problem.covariance.ndim == 3 or not len(columns):
        return []  # estimated, or different for every arm
    sd = np.sqrt(np.diag(problem.covariance))
    given = (problem.covariance / np.outer(sd, sd))[np.ix_(columns, columns)]
    found, spread = on(found, columns), [spread[c] for c in columns] if spread else []
    names = [problem.objectives[c] for c in columns]
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
        pair = f"{names[i]} and {names[j]}"
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
    return [Finding("covariance", "; ".join(words), tuple(names), p, advice)]


def _variances(
    problem: Problem, found: Residuals, columns: Ints, measured: Ints, own: float
) -> list[Finding]:
    if problem.noise == PER_ARM or not len(columns):
        return []
    seen = back(unequal_variances(on(found, columns)), columns)
    seen = sorted(one for one in seen if one.p_value < own)
    if not seen:
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


def _skewness(
    problem: Problem, found: Residuals, columns: Ints, values: Floats, own: float
) -> list[Finding]:
    seen = back(skewness(on(found, columns)), columns) if len(columns) else []
    seen = sorted(one for one in seen if one.p_value < own)
    if not seen:
        return []
    words = [
        f"skewness of {problem.objectives[c]} {one.size:.2g}" for one in seen for c in one.place
    ]
    skewed = [one.place[0] for one in seen]
    advice = (
        "transform the values so that deviations upwards and downwards are alike and register "
        "the design again: the means of the transformed values are then compared"
    )
    if all(np.all(problem.measured(values)[:, c] > 0) for c in skewed) and not any(
        problem.scales[c].log for c in skewed
    ):
        advice = (
            "compare logarithms (transform = 'log') and register the design again: what is "
            "claimed is then about means of logarithms, that is geometric means"
        )
    if problem.covariance is None and all(problem.scales[c].range for c in skewed):
        advice += "; or stop by proofs (stopping = 'certified'), which rest on the range alone"
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


def _autocorrelation(problem: Problem, seen: Sequence[Found]) -> list[Finding]:
    seen = sorted(seen)
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
