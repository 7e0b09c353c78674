"""Names of the kinds of arrays that are handed around."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Stream = npt.NDArray[np.uint64]  # (4,) of random bits
