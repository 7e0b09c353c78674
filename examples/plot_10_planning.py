"""
Planning a study, and defending its size
========================================

An ethics committee, a sponsor or a head of department asks before the first measurement: how many will you
need, and what if you are wrong? Give psips a guess of the means, with ranges where you are unsure, and it
answers with simulations of your own design.

On the command line this is ``psips plan design.toml``.
"""

import tempfile
from pathlib import Path

from psips import plots
from psips.problem.problem_file import read_problem_file
from psips.simulation.planning import plan as make_plan

# %%
# The design, with a guess
# ------------------------
# A number is what you expect; a range ``[low, high]`` says how unsure you are. Simulated truths are drawn from
# the ranges.
DESIGN = """
name = "pain relief"
arms = ["placebo", "low dose", "high dose", "combination"]
delta = 0.05

[[objectives]]
name = "relief"
variance = 1.0

[[objectives]]
name = "side effects"
direction = "min"
variance = 0.5

[guess]
placebo = [0.0, [0.1, 0.2]]
"low dose" = [[0.6, 0.8], 0.6]
"high dose" = [[1.2, 1.5], [0.9, 1.1]]
combination = [[0.7, 0.9], [1.4, 1.7]]
"""
file = Path(tempfile.mkdtemp()) / "design.toml"
file.write_text(DESIGN)
plan = make_plan(read_problem_file(file), runs=40)

# %%
# How many samples?
# -----------------
# Half of the studies need fewer than the median, and one in twenty more than the 95% quantile: ask for money
# for that one.
for one in plan.forecasts:
    print(
        f"delta {one.delta:g}: median {one.quantiles[2]:,.0f}, 95% {one.quantiles[4]:,.0f} samples; "
        f"{one.errors} wrong of {one.stopped} (chance at most {one.error_interval[1]:.0%})"
    )

# %%
# The whole plan in one figure: samples for each delta, and where they would go.
plots.plan(plan)

# %%
# What makes it expensive
# -----------------------
# Near-ties do. The share says how much of the difficulty lies in telling two options apart; the last number,
# what it would save to leave one of the two out of the study.
for tie in plan.ties[:3]:
    print(
        f"{' and '.join(tie.answers)}: {tie.share:.0%} of the difficulty; "
        f"without {tie.without!r} it falls by {tie.saves:.0%}"
    )

# %%
# The lower bound
# ---------------
# No method that is right with probability ``1 - delta`` for every truth can need fewer samples than this
# on average, if the centre of the guess is the truth. It tells the committee that the design is not
# wasteful.
asked = next(one for one in plan.forecasts if one.delta == plan.delta)
print(f"lower bound {asked.lower_bound:,.0f}, expected {asked.mean:,.0f}")
