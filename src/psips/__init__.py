"""Which options are Pareto-optimal, from noisy measurements, with a stated confidence."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psips.errors import InputError, NoProofError
    from psips.evaluation.evaluating import evaluate
    from psips.lab.instances import instance
    from psips.lab.loading import load
    from psips.problem import Problem, instances
    from psips.problem.instances import Instance
    from psips.problem.noise import NoiseGuess
    from psips.problem.parameters import Ball, Box, Prior
    from psips.rules import Rules
    from psips.session import Receipt, Session, Ticket
    from psips.simulation import Run, Summary, environments, simulate, simulate_many
    from psips.study import Study
    from psips.study.checking import check_results
    from psips.theory.geometry import complexity
    from psips.web.client import Client

from psips.version import __version__ as __version__

__all__ = [
    "Ball",
    "Box",
    "Client",
    "InputError",
    "Instance",
    "NoProofError",
    "NoiseGuess",
    "Prior",
    "Problem",
    "Receipt",
    "Rules",
    "Run",
    "Session",
    "Study",
    "Summary",
    "Ticket",
    "check_results",
    "complexity",
    "environments",
    "evaluate",
    "instance",
    "instances",
    "load",
    "plots",
    "simulate",
    "simulate_many",
]

# Where each name lives; modules are imported when a name of theirs is first used.
_HOMES = {
    "Ball": "psips.problem.parameters",
    "Box": "psips.problem.parameters",
    "Client": "psips.web.client",
    "InputError": "psips.errors",
    "Instance": "psips.problem.instances",
    "NoProofError": "psips.errors",
    "NoiseGuess": "psips.problem.noise",
    "Prior": "psips.problem.parameters",
    "Problem": "psips.problem",
    "Receipt": "psips.session",
    "Rules": "psips.rules",
    "Run": "psips.simulation",
    "Session": "psips.session",
    "Study": "psips.study",
    "Summary": "psips.simulation",
    "Ticket": "psips.session",
    "check_results": "psips.study.checking",
    "complexity": "psips.theory.geometry",
    "evaluate": "psips.evaluation.evaluating",
    "instance": "psips.lab.instances",
    "load": "psips.lab.loading",
    "simulate": "psips.simulation",
    "simulate_many": "psips.simulation",
}

_MODULES = {
    "environments": "psips.simulation.environments",
    "instances": "psips.lab.instances",
    "plots": "psips.plots",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'psips' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
