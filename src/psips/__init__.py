"""Which options are Pareto-optimal, from noisy measurements, with a stated confidence."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psips import environments, instances
    from psips.checking import check_results
    from psips.client import Client
    from psips.errors import InputError
    from psips.geometry import complexity
    from psips.instances import Instance, instance, load
    from psips.noise import NoiseGuess
    from psips.parameters import Ball, Box, Prior
    from psips.problem import Problem
    from psips.rules import Rules
    from psips.session import Session
    from psips.simulation import Run, Summary, simulate, simulate_many
    from psips.study import Study

from psips.compiling import prepare_cache

prepare_cache()

__version__ = "0.1.0"

__all__ = [
    "Ball",
    "Box",
    "Client",
    "InputError",
    "Instance",
    "NoiseGuess",
    "Prior",
    "Problem",
    "Rules",
    "Run",
    "Session",
    "Study",
    "Summary",
    "check_results",
    "complexity",
    "environments",
    "instance",
    "instances",
    "load",
    "plots",
    "simulate",
    "simulate_many",
]

# Where each name lives; modules are imported when a name of theirs is first used.
_HOMES = {
    "Ball": "psips.parameters",
    "Box": "psips.parameters",
    "Client": "psips.client",
    "InputError": "psips.errors",
    "Instance": "psips.instances",
    "NoiseGuess": "psips.noise",
    "Prior": "psips.parameters",
    "Problem": "psips.problem",
    "Rules": "psips.rules",
    "Run": "psips.simulation",
    "Session": "psips.session",
    "Study": "psips.study",
    "Summary": "psips.simulation",
    "check_results": "psips.checking",
    "complexity": "psips.geometry",
    "instance": "psips.instances",
    "load": "psips.instances",
    "simulate": "psips.simulation",
    "simulate_many": "psips.simulation",
}


def __getattr__(name: str) -> Any:
    if name in ("environments", "instances", "plots"):  # modules
        return import_module(f"psips.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'psips' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
