"""
Which compressor, at which level?
=================================

A service compresses text before it stores it. Small is good, quick is good, and no setting is best at both.
This page measures real programs on the machine that built it: the compressors of Python's standard
library, on pieces of the standard library's own source code.

Both metrics are noisy. Time depends on what else the machine does, and the size depends on the piece.
"""

import bz2
import lzma
import sysconfig
import zlib
from pathlib import Path
from time import perf_counter

import numpy as np

from psips import Problem, Session, plots

# %%
# What can be measured
# --------------------
# No one knows the noise, so no covariance is given: psips estimates it for each setting by itself. Times
# are skewed (a hiccup makes them longer, nothing makes them much shorter), so their logarithm is compared.
settings = {
    **{
        f"zlib {level}": lambda text, n=level: zlib.compress(text, n)
        for level in (1, 3, 6, 9)
    },
    "bz2": bz2.compress,
    **{
        f"lzma {level}": lambda text, n=level: lzma.compress(text, preset=n)
        for level in (0, 3)
    },
}
problem = Problem(
    arms=list(settings),
    objectives={
        "milliseconds": {"direction": "min", "transform": "log"},
        "size": {"direction": "min", "range": [0.0, 2.0]},
    },
    name="compressors",
)

# %%
# One measurement
# ---------------
# A random piece of 40,000 bytes, compressed once.
library = Path(sysconfig.get_path("stdlib"))
source = b"".join(file.read_bytes() for file in sorted(library.glob("*.py")))
rng = np.random.default_rng(1)
PIECE = 40_000


def measure(setting):
    start = int(rng.integers(len(source) - PIECE))
    text = source[start : start + PIECE]
    begun = perf_counter()
    packed = settings[setting](text)
    return {
        "milliseconds": 1000 * (perf_counter() - begun),
        "size": len(packed) / PIECE,
    }


print(measure("zlib 6"))

# %%
# The loop
# --------
# Near-ties may take very long, so there is a budget. If it runs out first, psips says what is undecided.
session = Session(problem, delta=0.05, budget=4000, rng=1)
while not session.done:
    ticket = session.ask()
    session.tell(ticket, measure(ticket))

print(
    "stopped" if session.stopped else "the budget has ended",
    "after",
    session.results,
    "results",
)
print("candidates:", ", ".join(session.candidate_set))

# %%
# The front: which settings are worth having. If the session has stopped, the others are slower and
# larger than one of these.
ax = plots.front(session)

# %%
# How often each was measured: most measurements went to settings that nearly tie.
print(dict(sorted(session.pulls.items(), key=lambda item: -item[1])))
