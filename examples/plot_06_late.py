"""
Instruments that answer late
============================

A laboratory has six instruments. A sample takes between one and five hours, results come back in any order,
and now and then a run is lost. Waiting for one result before choosing the next sample would leave five
instruments idle.

psips handles this. Open tickets count as pending when it chooses the next sample, results may come in any
order, and you cancel the ticket of a lost sample.
"""

import heapq

import matplotlib.pyplot as plt
import numpy as np

from psips import Problem, Session, plots

problem = Problem(
    arms=[f"buffer {k}" for k in range(1, 7)],
    objectives={"signal": "max", "drift": "min"},
    covariance=[[1.0, 0.2], [0.2, 0.6]],
)
truth = np.array(
    [[5.0, 3.0], [6.2, 3.4], [4.1, 2.1], [5.6, 4.4], [6.9, 4.6], [3.0, 2.9]]
)
INSTRUMENTS, LOST = 6, 0.04


# %%
# A laboratory
# ------------
# ``work`` runs the laboratory until the session stops: whenever an instrument is free it asks for the
# next sample. It returns the hours it took and what ran where.
def work(session, instruments, seed):
    rng = np.random.default_rng(seed)
    running, ran, clock = [], [], 0.0
    free = list(range(instruments))
    while not session.done:
        while free:
            ticket, place = session.ask(), free.pop()
            heapq.heappush(
                running, (clock + rng.uniform(1, 5), place, clock, ticket)
            )
        clock, place, begun, ticket = heapq.heappop(running)
        free.append(place)
        lost = rng.random() < LOST
        ran.append((place, begun, clock, ticket, lost))
        if lost:
            session.cancel(ticket)
        else:
            mean = truth[problem.arm_index(ticket)]
            session.tell(ticket, rng.multivariate_normal(mean, problem.covariance))
    return clock, ran


session = Session(problem, delta=0.05, rng=1)
hours, ran = work(session, INSTRUMENTS, seed=2)
print(
    f"{session.results} results in {hours:,.0f} hours: {', '.join(session.pareto_set)}"
)
print("asked for and never told:", sum(session.pending.values()))

# %%
# The first two days of the laboratory, one colour for each buffer; crosses are lost samples.
colours = dict(zip(problem.arms, plt.colormaps["tab10"].colors, strict=False))
figure, ax = plt.subplots(figsize=(8.0, 3.4))
for place, begun, ended, arm, lost in ran:
    if begun < 48:
        ax.barh(
            place + 1,
            ended - begun,
            left=begun,
            color=colours[arm],
            edgecolor="white",
        )
        if lost:
            ax.plot(ended - 0.4, place + 1, "kx")
ax.set(xlabel="hours", ylabel="instrument", xlim=(0, 48))
handles = [plt.Rectangle((0, 0), 1, 1, color=colours[arm]) for arm in problem.arms]
ax.legend(handles, problem.arms, ncols=6, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0),
          frameon=False, handlelength=1, columnspacing=1)  # fmt: skip

# %%
# What does it cost not to wait?
# ------------------------------
# One instrument chooses with every result known; six choose with five results still to come. Eight
# experiments each: the number of results hardly grows, and the time falls to about a sixth.
for instruments in (1, INSTRUMENTS):
    done = []
    for seed in range(8):
        one = Session(problem, delta=0.05, rng=seed)
        done.append((work(one, instruments, seed)[0], one.results))
    took, results = np.mean(done, axis=0)
    print(
        f"{instruments} instrument(s): {results:,.0f} results, {took:,.0f} hours on average"
    )

# %%
plots.front(session)
