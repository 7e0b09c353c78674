"""Which rules there are, by name, and how a choice of them reaches the kernels.

Light to import: names and texts stand here without the kernels they name.
"""

from psips.rules.config import Rules
from psips.rules.sampling import DRAWS, SAMPLING, TRACKING, SamplingRule
from psips.rules.stopping import CALIBRATION, STOPPING, StoppingRule
from psips.rules.tuning import Tuning

__all__ = [
    "CALIBRATION",
    "DRAWS",
    "SAMPLING",
    "STOPPING",
    "TRACKING",
    "Rules",
    "SamplingRule",
    "StoppingRule",
    "Tuning",
]
