"""Which engine drives a problem."""

from __future__ import annotations

from psips.kernels.model import Model
from psips.session.engine import Engine
from psips.session.joint import JointEngine
from psips.session.mixed import MixedEngine


def engine_for(model: Model) -> type[Engine]:
    """Return the kind of run that a problem needs."""
    if not model.joint:
        return Engine
    return MixedEngine if model.unstructured else JointEngine
