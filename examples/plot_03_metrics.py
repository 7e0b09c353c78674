"""
An A/B/n test with four metrics and a tolerance
===============================================

Five versions of a checkout page. The team looks at four metrics: did the visitor buy, how much, how long
did the page take, did they complain. A single score of all four would hide the trade-offs.
So the question is: which versions are Pareto-optimal?

Two metrics are yes or no, two are skewed. No one knows their noise. And no one would rebuild the page for one
buyer in a hundred: small differences may stay undecided.
"""

import numpy as np
import pandas as pd

from psips import Problem, Session, plots

design = {
    "arms": ["today", "short form", "big photos", "one click", "chat"],
    "objectives": {
        "bought": {"direction": "max", "kind": "binary"},
        "basket": {"direction": "max", "transform": "log"},
        "seconds": {"direction": "min", "transform": "log"},
        "complained": {"direction": "min", "kind": "binary"},
    },
}
# Differences up to two points in a share, and of 5% in an amount, do not matter.
tolerance = {"bought": 0.02, "basket": "5%", "seconds": "5%", "complained": 0.02}
problem = Problem(**design, epsilon=tolerance, name="checkout")

# %%
# Visitors
# --------
# These simulate your own visitors: shares of buyers and of complaints, and typical baskets and times, of each
# version. In a real test ``visit`` is your web server.
truth = pd.DataFrame(
    {
        "bought": [0.30, 0.38, 0.30, 0.44, 0.34],
        "basket": [40.0, 45.0, 55.0, 33.0, 39.0],
        "seconds": [1.2, 0.9, 2.2, 1.0, 1.9],
        "complained": [0.10, 0.08, 0.16, 0.20, 0.05],
    },
    index=problem.arms,
)
rng = np.random.default_rng(5)


def visit(versions):
    mean = truth.loc[versions]
    n = len(versions)
    return pd.DataFrame(
        {
            "arm": versions,
            "bought": rng.random(n) < mean["bought"].to_numpy(),
            "basket": mean["basket"].to_numpy() * rng.lognormal(0, 0.5, n),
            "seconds": mean["seconds"].to_numpy() * rng.lognormal(0, 0.4, n),
            "complained": rng.random(n) < mean["complained"].to_numpy(),
        }
    ).astype({"bought": float, "complained": float})


# %%
# Batches
# -------
# Visitors come by the hundred, so the session is asked for a batch and told a table. Open tickets
# count when psips chooses, so that a batch is spread over the versions. psips judges the evidence after each
# batch; delta allows for that, so no correction for "peeking" is needed.
def run_test(problem):
    session = Session(problem, delta=0.05, rng=1)
    while not session.done and session.results < 40_000:
        session.tell(visit(session.ask(400)))
    return session


session = run_test(problem)
print(f"{session.results:,} visitors; stopped: {session.stopped}")
print("worth keeping:", ", ".join(session.candidate_set))
print("without the tolerance:", f"{run_test(Problem(**design)).results:,} visitors")

# %%
# What was found, in the two metrics that people ask about first. A version may be behind in this picture
# and still be optimal: it is ahead in another metric.
plots.front(session, objectives=["bought", "seconds"])

# %%
# The visitors that each version got, over time.
plots.pulls(session)

# %%
# Choosing from the front
# -----------------------
# The data decide which versions are in the set, the team which of them to ship: here a purchase counts
# most, and complaints weigh in.
weights = {"bought": 10, "basket": 1, "seconds": 1, "complained": 5}
session.rank(weights=weights)
