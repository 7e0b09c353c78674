"""
Which boosters are worth taking further?
========================================

A trial compares 20 booster vaccinations by three immune responses. No one can say which response matters
most, so the question is: which boosters are Pareto-optimal? Every patient costs money and time, so the
second question is: how few patients will do?

The numbers are those of COV-BOOST, a real trial; patients are drawn from its means and variances.
"""

import matplotlib.pyplot as plt
import numpy as np

import psips
from psips import Session, environments, instance, plots

trial = instance("cov-boost")
print(trial.problem)
print(trial.problem.objectives)

# %%
# The loop
# --------
# The session says which booster the next patient should get, and takes the three responses. ``delta=0.1``
# accepts one wrong set in ten.
session = Session(trial.problem, delta=0.1, rng=1)
patients = environments.environment_of(trial).start(rng=2)
while not session.done:
    ticket = session.ask()
    session.tell(ticket, patients.pull(ticket))

print(f"{session.results:,} patients; Pareto set: {', '.join(session.pareto_set)}")
print("the truth:", ", ".join(trial.pareto_set))

# %%
# The front
# ---------
# Each ellipse holds the true mean of a booster with probability 0.95. Small ones were measured often:
# those that nearly tie with a booster on the front.
plots.front(session, objectives=["anti-spike IgG", "cellular response"])

# %%
# Where the patients went
# -----------------------
# Three boosters out of twenty got most of the patients. Those that are clearly worse got about thirty each.
pulls = session.pulls
order = sorted(pulls, key=pulls.get)
figure, ax = plt.subplots(figsize=(7.2, 5.2))
colours = ["#0072B2" if name in session.pareto_set else "#8C8C8C" for name in order]
ax.barh(order, [pulls[name] for name in order], color=colours)
ax.axvline(session.results / len(pulls), color="#D55E00", linewidth=1)
ax.text(session.results / len(pulls) * 1.05, 0, "equal shares", color="#D55E00")
ax.set(xlabel="patients", title="blue: Pareto-optimal")
ax.tick_params(axis="y", labelsize=8)
ax.spines[["top", "right"]].set_visible(False)

# %%
# Was it worth it?
# ----------------
# The same trial with equal shares, stopped by the same rule. Ten trials each; compare the medians, since a
# single run may be lucky.
adaptive = psips.simulate_many(trial, runs=10, delta=0.1, seed=3)
equal = psips.simulate_many(
    trial, runs=10, delta=0.1, seed=3, sampling="round-robin"
)
for name, runs in (("psips", adaptive), ("equal shares", equal)):
    print(
        f"{name}: {np.median(runs.samples):,.0f} patients, {runs.errors} wrong of {runs.runs}"
    )
