"""The design as it was registered, as a part of a report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from psips.errors import counted
from psips.input.durations import duration_text
from psips.input.quantities import expected_text
from psips.problem.goals_and_budget import THESE, cost_of
from psips.problem.noise import ESTIMATE, KNOWN, PER_ARM
from psips.problem.parameters import Ball
from psips.problem.scales import Scale
from psips.report.appendix import in_utc
from psips.report.page import table
from psips.rules import CALIBRATION, SAMPLING, STOPPING
from psips.study.state import State


def _spread_of(scale: Scale, sd: float) -> str:
    """Write the standard deviation of one result; nothing if it is not known."""
    if scale.exact:
        return "none: exact"
    return "" if np.isnan(sd) else f"{sd:.4g}"


def design_of(state: State) -> str:
    """Return the section of objectives, rules and arms."""
    problem, rules = state.problem, state.rules
    sd = np.sqrt(np.diag(problem.usual_covariance))
    size = np.where(sd > 0.0, sd, 1.0)  # 0 where exact
    correlation = problem.usual_covariance / np.outer(size, size)
    given = problem.noise == KNOWN
    head = ["metric", "better", "sd of one measurement" if given else "sd guessed"]
    rows: list[list[Any]] = [
        [
            problem.labels[c],
            {"max": "more", "min": "less"}.get(way, "only limited"),
            _spread_of(problem.scales[c], sd[c]),
        ]
        for c, way in enumerate(problem.directions)
    ]
    if given and np.any(np.triu(correlation, 1)):
        head += [f"correlation with {name}" for name in problem.objectives]
        for row, line in zip(rows, correlation, strict=True):
            row += [f"{value:.3g}" for value in line]
    facts: list[list[Any]] = [
        ["registered", in_utc(state.created.at)],
        ["delta", f"{rules.delta:g}"],
        ["stopping rule", f"{rules.stopping}: {STOPPING[rules.stopping].about}"],
        ["sampling rule", f"{rules.sampling}: {SAMPLING[rules.sampling].about}"],
    ]
    if rules.calibrated:
        about = CALIBRATION[rules.calibration].about
        facts.append(["calibration", f"{rules.calibration}: {about}"])
    if rules.expected_results is not None:
        facts.append(["measurements expected", expected_text(rules.expected_results)])
    others = {"draws": rules.draws, "tracking": rules.tracking, **asdict(rules.tuning)}
    facts.append(["other settings", ", ".join(f"{k} {v}" for k, v in others.items())])
    words = {
        KNOWN: "given"
        if problem.covariance is None or problem.covariance.ndim == 2
        else "given for each option (below: the mean)",
        ESTIMATE: "estimated, the same for all arms",
        PER_ARM: "estimated for each option",
    }
    facts.append(["noise", words[problem.noise]])
    if problem.partial:
        facts.append(["measurements", "may lack values"])
    if problem.has_items:
        many = (
            f"{len(problem.items):,} in a given order" if problem.items else "as many as needed"
        )
        alone = "; the question is of these alone" if state.session.of == THESE else ""
        facts.append(["items shared by the options", f"{many}; compared within items{alone}"])
    theta = problem.parameter_set
    if theta is not None:
        kind = f"ball of radius {theta.radius}" if isinstance(theta, Ball) else repr(theta)
        facts.append(["parameter set", kind])
    if problem.prior is not None:
        worth = zip(problem.arms, problem.prior.means, problem.prior.pulls, strict=True)
        facts.append(
            ["prior", "; ".join(f"{a}: {m}, worth {n:g} measurements" for a, m, n in worth)]
        )
    if not problem.unstructured:
        facts.append(["model", f"linear in {problem.h} features (see the end)"])
        xi = problem.model.xi
        facts.append(["regularisation", f"{xi:.6g}" if xi else "none: least squares"])
    facts.append([counted(problem.K, "option"), ", ".join(problem.arms)])
    if problem.has_costs:
        each = zip(problem.arms, problem.costs, strict=True)
        costs = ", ".join(f"{a} {cost:.10g}" for a, cost in each)
        facts.append(["cost of a measurement", costs])
    if problem.limits:
        facts.append(["limits", "; ".join(problem.limit_texts)])
    if problem.tolerance:
        facts.append(["tolerance", str(problem.tolerance)])
    if problem.control is not None:
        facts.append(["control", problem.control])
    if state.goal is not None:
        facts.append(["goal", state.goal])
    if state.budget is not None:
        facts.append(["budget", cost_of(problem, state.budget)])
    if state.time_limit is not None:
        facts.append(["time limit", duration_text(state.time_limit)])
    if problem.transductive:
        facts.append([counted(problem.n, "answer"), ", ".join(problem.answers)])
    facts.append(["seed", str(state.seed)])
    return (
        "<h2>The design as registered</h2>\n" + table(None, facts) + table(head, rows, right=2)
    )
