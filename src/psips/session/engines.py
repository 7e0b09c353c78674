"""Which engine drives a problem."""

from __future__ import annotations

from psips.session.engine import Engine
from psips.session.finite import FiniteEngine
from psips.session.joint import JointEngine
from psips.session.mixed import MixedEngine
from psips.state.model import Model


def engine_for(model: Model, finite: bool = False) -> type[Engine]:
    """Return the kind of run that a problem needs.

    ``finite`` says whether it is of the items there are.
    """
    if finite:
        return FiniteEngine
    if not model.joint:
        return Engine
    return MixedEngine if model.unstructured else JointEngine
