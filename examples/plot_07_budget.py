"""
A budget, and a process to beat
===============================

A plant runs a process today and has seven candidates to replace it. A trial of a new one takes the line down
for a day; of today's process, an hour. There is money for 1,200 hours. No one needs the whole Pareto front:
the question is whether one of the candidates is better than today's process in both metrics.
"""

import numpy as np

from psips import Problem, Session, plots

names = ["today", *(f"recipe {k}" for k in range(1, 8))]
problem = Problem(
    arms=names,
    objectives={"yield": "max", "waste": "min"},
    covariance=[1.0, 0.5],
    costs={name: 1.0 if name == "today" else 8.0 for name in names},
    control="today",
)
truth = np.array(
    [
        [10, 5],
        [9.1, 4.4],
        [10.4, 5.9],
        [11.3, 3.9],
        [8.8, 5.2],
        [10.1, 5.3],
        [11.0, 5.6],
        [9.6, 4.0],
    ]
)

# %%
# The goal
# --------
# ``goal="beat control"`` stops as soon as one candidate is *proven* to be better than the control in
# everything, or the control is proven to be optimal. Costs are in hours, and so is the budget.
session = Session(problem, delta=0.05, goal="beat control", budget=1200, rng=1)
line = np.random.default_rng(4)
while not session.done:
    ticket = session.ask()
    session.tell(
        ticket,
        line.multivariate_normal(truth[names.index(ticket)], problem.covariance),
    )

print(session.claim or "nothing was proven")
print(f"{session.spent:.0f} of {session.budget:.0f} hours spent")

# %%
# The hours went where they inform most: to the recipes that look best, and to today's process, of which an hour
# buys eight times as much.
print(session.pulls)
plots.front(session)

# %%
# When the money runs out first
# -----------------------------
# The same question with 200 hours. psips claims only what is proven; the status says what is undecided, and
# what a tenth more would be spent on.
poor = Session(problem, delta=0.05, goal="beat control", budget=200, rng=1)
line = np.random.default_rng(4)
while not poor.done:
    ticket = poor.ask()
    poor.tell(
        ticket,
        line.multivariate_normal(truth[names.index(ticket)], problem.covariance),
    )

print(poor.claim or "nothing was proven")
print(poor.status())
