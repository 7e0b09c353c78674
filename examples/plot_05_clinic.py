"""
A simulation with common random numbers
=======================================

How should a clinic book its patients? If they come one every 18 minutes, no one waits long, but the doctor
sits idle and goes home late. If three are told to come at the start and the next every 12 minutes, the doctor
is never idle, and the waiting room is full. Eleven such rules are compared, by simulation.

A simulation can do what no real clinic can: run the same day, with the same patients, under every rule. This
is called common random numbers. In psips such a day is an item: psips compares rules day by day, so that it
does not matter that some days are bad for all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

from psips import Problem, Session, plots

# %%
# The model
# ---------
# Twenty patients are booked, nine in ten come, and each takes a quarter of an hour, more or less. The seed is
# the day: it says who comes and how long each takes, whatever the rule.
PATIENTS = 20
place = np.arange(PATIENTS)
rules = {}
for gap in (12, 15, 18):
    rules[f"one every {gap}"] = place * gap
    rules[f"two, then every {gap}"] = np.maximum(place - 1, 0) * gap
    rules[f"three, then every {gap}"] = np.maximum(place - 2, 0) * gap
for gap in (30, 36):
    rules[f"pairs every {gap}"] = place // 2 * gap


def simulate(rule, seed):
    """One day: minutes that a patient waits on average, and hours until the doctor goes home."""
    rng = np.random.default_rng(seed)
    minutes = rng.gamma(4, 15 / 4, PATIENTS) * rng.lognormal(0, 0.15)
    comes = rng.random(PATIENTS) < 0.9
    free = waited = 0.0
    for booked, takes in zip(rules[rule][comes], minutes[comes], strict=True):
        begins = max(free, booked)
        waited += begins - booked
        free = begins + takes
    return {"waiting": waited / PATIENTS, "doctor's day": free / 60}


# %%
# Why it helps
# ------------
# Two rules on 200 days. On days of their own, left, the clouds say little about which rule makes patients wait
# longer. On the same days, right, one rule makes them wait longer almost every day.
one, two = "one every 15", "two, then every 15"
figure, axes = plt.subplots(1, 2, figsize=(8.4, 4.2), sharey=True)
for ax, later, title in (
    (axes[0], 1000, "different days"),
    (axes[1], 0, "the same days"),
):
    x = np.array([simulate(one, day)["waiting"] for day in range(200)])
    y = np.array([simulate(two, day + later)["waiting"] for day in range(200)])
    ax.plot([0, 80], [0, 80], color="#8C8C8C", linewidth=1)
    ax.plot(x, y, "o", color="#0072B2", alpha=0.5, markersize=4)
    ax.set(
        xlabel=f"waiting, {one} (min)", xlim=(-2, 80), ylim=(-2, 80), aspect="equal"
    )
    ax.set_title(f"{title}: {two!r} is longer on {np.mean(y > x):.0%}", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel(f"waiting, {two} (min)")

# %%
# The loop
# --------
# ``items=True`` says that results share items, as many as are needed. A ticket then names a rule and an item, a
# number, which is the seed.
objectives = {"waiting": "min", "doctor's day": "min"}


def with_common_numbers(seed):
    problem = Problem(arms=list(rules), objectives=objectives, items=True)
    session = Session(problem, delta=0.1, rng=seed)
    while not session.done:
        ticket = session.ask()
        session.tell(ticket, simulate(ticket, [seed, int(ticket.item)]))
    return session


session = with_common_numbers(1)
print(f"{session.results:,} simulated days; worth considering:")
print("\n".join(session.pareto_set))

# %%
# Each rule with an ellipse that holds its true mean with probability 0.95. They are wide, since some days are
# worse than others for every rule; the *differences* between rules, which decide, are known far better.
plots.front(session)


# %%
# What it saved
# -------------
# The same question with new random numbers for every simulation, twice each.
def with_new_numbers(seed):
    problem = Problem(arms=list(rules), objectives=objectives)
    session = Session(problem, delta=0.1, rng=seed)
    while not session.done and session.results < 60_000:
        ticket = session.ask()
        session.tell(ticket, simulate(ticket, [seed, 0, session.results]))
    return session


took = {
    "common random numbers": [with_common_numbers(seed).results for seed in (1, 2)],
    "new random numbers": [with_new_numbers(seed).results for seed in (1, 2)],
}
for name, results in took.items():
    print(f"{name}: {np.mean(results):,.0f} simulated days on average of {results}")

# %%
figure, ax = plt.subplots(figsize=(7.2, 1.8))
ax.barh(
    list(took), [np.mean(n) for n in took.values()], color=["#0072B2", "#8C8C8C"]
)
for row, results in enumerate(took.values()):
    ax.plot(results, [row] * 2, "k|", markersize=14)
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.set(xlabel="simulated days until the stop (bars: mean; lines: each run)")
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)
