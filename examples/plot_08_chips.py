"""
Chip designs that share their features
======================================

259 designs of a network on a chip, each described by four numbers. A simulation of a design gives its energy
and its run time, with noise. Simulating all of them many times is out of the question, but designs with
similar numbers behave alike: if the mean is about linear in the features, a result of one design informs
about all.
"""

import matplotlib.pyplot as plt
import numpy as np

from psips import Problem, Session, environments, instance, simulate

chips = instance("noc")
problem = chips.problem
print(problem)
print("features:", ", ".join(problem.feature_names))

# %%
# Such a problem is made from a table with a row for each design:
# ``Problem(features=table, objectives={"energy": "min", ...}, covariance=...)``.
print(np.round(problem.features[:3], 2))

# %%
# Most designs are never simulated
# --------------------------------
# The first measurements span the features; nothing is concluded before they do. Then the session measures
# the designs that inform most about the undecided pairs.
session = Session(problem, delta=0.1, rng=1)
runs = environments.environment_of(chips).start(rng=2)
while not session.done:
    ticket = session.ask()
    session.tell(ticket, runs.pull(ticket))

pulls = np.array(list(session.pulls.values()))
print(
    f"{session.results:,} simulations of {np.count_nonzero(pulls)} of {problem.K} designs"
)
print(
    f"{len(session.pareto_set)} are Pareto-optimal; right: {chips.is_right(session.pareto_set)}"
)

# %%
# Blue designs are the set found; the size of a mark is how often the design was simulated. The true means
# are drawn, which the session did not see. Few designs were simulated, and those often:
# they inform most about the model.
means = environments.environment_of(chips).means
found = np.isin(problem.arms, session.pareto_set)
figure, ax = plt.subplots(figsize=(7.2, 5.0))
for inside, colour in ((False, "#8C8C8C"), (True, "#0072B2")):
    at = found == inside
    ax.scatter(*means[at].T, s=6 + 0.25 * pulls[at], color=colour, alpha=0.6,
               label="Pareto-optimal" if inside else "dominated")  # fmt: skip
ax.set(xlabel=problem.objectives[0], ylabel=problem.objectives[1])
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)

# %%
# What the features are worth
# ---------------------------
# The same designs without features: after as many results as the session needed, most have been simulated a
# few times, and nothing is settled.
alone = Problem(
    arms=problem.arms,
    objectives=dict(zip(problem.objectives, problem.directions, strict=True)),
    covariance=problem.covariance,
)
without = simulate(
    alone,
    environments.GaussianEnvironment(alone, means),
    rng=1,
    delta=0.1,
    max_results=session.results,
)
print("stopped without features:", without.stopped)
print(
    len(without.candidate_set),
    "candidates then; with features",
    len(session.pareto_set),
)
