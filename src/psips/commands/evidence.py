"""What each option's place in the Pareto set, or outside, rests on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from psips.aliases import Floats
from psips.laws import probit
from psips.problem import Problem
from psips.session import Session
from psips.session.mixed import MixedEngine


class Claim(NamedTuple):
    """That an option is in the set, or out of it."""

    option: str
    evidence: float  # for that, against the nearest way of being wrong
    rival: str  # the option that would be in the way
    inside: bool


class Leads(NamedTuple):
    """By how much options lead each other, every metric maximised: first less second."""

    means: Floats  # (K, K, d)
    variances: Floats  # (K, K, d); 0 where a metric is exact
    epsilon: Floats  # (d,)
    metrics: list[int]  # those that are objectives


def leads_of(session: Session) -> Leads | None:
    """Return leads in the objectives; None while nothing can be judged."""
    problem, noisy = session.problem, session.noisy
    engine, K = session.engine, problem.K
    if not session.candidate_set or not engine.ready:
        return None
    values = np.array(session.exact.values)  # (K, d) of exact metrics
    variances = np.zeros((K, K, problem.d))
    for c, name in enumerate(noisy.objectives):
        place = problem.objectives.index(name)
        values[:, place] = engine.means[:, c]
        for a in range(K):
            variances[a, :, place] = errors_of_leads(session, a, c) ** 2
    aims = [c for c, way in enumerate(problem.directions) if way != "limit"]
    control = None if problem.control is None else values[problem.arm_index(problem.control)]
    leads = values[:, None, :] - values[None, :, :]
    epsilon = problem.tolerance.at(control)
    return Leads(leads[..., aims], variances[..., aims], epsilon[aims], aims)


def errors_of_leads(session: Session, arm: int, c: int) -> Floats:
    """Return the standard errors (K,) of the means in a metric, less that of one option."""
    engine = session.engine
    if isinstance(engine, MixedEngine):
        return engine.errors_of_leads(arm, c)
    variances = engine.covariances()[:, c, c]
    found = np.sqrt(variances + variances[arm])
    found[arm] = 0.0
    return np.asarray(found)


def claims_of(session: Session) -> list[Claim]:
    """Return the claim on every option, in their order; nothing while none can be judged.

    A member is wrong if another option beats it by more than the tolerance in every metric, one
    left out if it is better than each member by more in some metric. The evidence is half the
    squared distance to that, metric by metric: what the stopping rule looks at, less its
    correlations.
    """
    leads = leads_of(session)
    if leads is None or session.problem.limits:
        return []
    problem = session.problem
    members = [problem.arm_index(name) for name in session.candidate_set]
    # for z to be beaten by x it must lose (lead + epsilon) in every metric,
    lose = _half_squares(leads.means + leads.epsilon, leads.variances).sum(axis=2)
    # and to escape x, x must lose as much in one
    escape = lose_in_one(leads)
    return [_claim(problem, z, members, lose, escape) for z in range(problem.K)]


def lose_in_one(leads: Leads) -> Floats:
    """Return what it takes for x to lose to z in some metric, (z, x)."""
    each = _half_squares(leads.means + leads.epsilon, leads.variances)  # (x, z, d)
    return np.asarray(each.min(axis=2).T)


def _half_squares(leads: Floats, variances: Floats) -> Floats:
    """Return half the squared distances to a lead of 0; exact ones are 0 or infinite."""
    ahead = np.maximum(leads, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = ahead**2 / (2.0 * variances)
    return np.where(ahead == 0.0, 0.0, np.where(variances == 0.0, np.inf, found))


def _claim(problem: Problem, z: int, members: list[int], lose: Floats, escape: Floats) -> Claim:
    others = [x for x in range(problem.K) if x != z]
    if z in members:
        rival = min(others, key=lambda x: lose[z, x])
        return Claim(problem.arms[z], float(lose[z, rival]), problem.arms[rival], True)
    rival = max(members, key=lambda x: escape[z, x])
    return Claim(problem.arms[z], float(escape[z, rival]), problem.arms[rival], False)


def ratio_text(session: Session, one: str, other: str, level: float) -> list[str]:
    """Compare two options in every metric that has noise, the ratio with its interval."""
    leads = leads_of(session)
    if leads is None:
        return []
    problem, parts = session.problem, []
    deviations = -float(probit(0.5 - level / 2.0))
    a, b = problem.arm_index(one), problem.arm_index(other)
    for k, c in enumerate(leads.metrics):
        variance = float(leads.variances[a, b, k])
        if variance == 0.0:
            continue
        lead = float(leads.means[a, b, k]) * float(problem.signs[c])
        by = math.sqrt(variance) * deviations
        name = problem.objectives[c]
        if problem.scales[c].log:
            parts.append(f"{name}: ratio {math.exp(lead):.3g} ±{100.0 * math.expm1(by):.2g}%")
        else:
            parts.append(f"{name}: difference {lead:.3g} ±{by:.2g}")
    return parts
