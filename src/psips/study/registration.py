"""Registration of a design: checks, then the payload of the first event."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import numpy as np

from psips.errors import InputError
from psips.input.files import shown
from psips.problem import Problem
from psips.problem.goals_and_budget import LIKE_THESE
from psips.problem.problem_file import ProblemFile, read_problem_file
from psips.rules import Rules
from psips.rules.tuning import put_over
from psips.session import Session, read_rules
from psips.study.conduct import Conduct
from psips.study.inputs import check_units, read_count, read_name
from psips.study.people import VERSION


def registration(
    problem: Problem | str | os.PathLike[str],
    name: str | None,
    rules: Rules | None,
    seed: int | None,
    conduct: Conduct | Mapping[str, Any] | None,
    budget: float | None,
    goal: str | None,
    time_limit: object,
    of: str | None,
    choices: dict[str, Any],
) -> tuple[str, dict[str, Any]]:
    """Check a design; return the name of the study and the payload of its first event."""
    if not isinstance(problem, Problem):
        file = read_problem_file(problem)
        problem = file.problem
        given = {} if file.delta is None else {"delta": file.delta}
        if rules is None:
            choices = put_over(choices, {**given, **file.rules})
        seed = file.seed if seed is None else seed
        conduct = _conduct_of(file) if conduct is None else conduct
        budget = file.budget if budget is None else budget
        goal = file.goal if goal is None else goal
        time_limit = file.time_limit if time_limit is None else time_limit
        of = file.of if of is None else of
    check_units(problem)
    name = read_name(problem.name if name is None else name)
    chosen = read_rules(problem, rules, choices, goal)
    seed = secrets.randbits(48) if seed is None else read_count("seed", seed, 0)
    session = Session(
        problem, rules=chosen, rng=seed, budget=budget, goal=goal, time_limit=time_limit, of=of
    )  # complains
    if not isinstance(conduct, Conduct):
        conduct = Conduct.read(conduct or {})
    payload = {
        "id": str(uuid4()),
        "problem": problem.to_dict(),
        "rules": chosen.to_dict(),
        "conduct": conduct.to_dict(),
        **({} if session.budget is None else {"budget": session.budget}),
        **({} if goal is None else {"goal": goal}),
        **({} if session.time_limit is None else {"time_limit": session.time_limit.seconds}),
        **({} if session.of == LIKE_THESE else {"of": session.of}),
        "seed": seed,
        "versions": {
            "psips": VERSION,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    return name, payload


def _conduct_of(file: ProblemFile) -> Conduct:
    try:
        return Conduct.read(file.study)
    except InputError as error:
        raise InputError(f"{shown(file.path.name)}: {error}") from None
