"""
Prompts and models on the same questions
========================================

Four models, five ways to prompt them: twenty arms. Each can answer a set of 1,000 questions with known
answers. The team wants to know which combinations are worth having: no other is right more often for less
money. Asking all of them everything is 20,000 calls, and most of that money goes to combinations that no one
will use.

Questions differ: some are hard for every model. Since all arms get the same questions, psips compares them
question by question, and the difficulty cancels.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import ListedColormap

import psips

# %%
# Simulated models
# ----------------
# The table below is made up: the share of right answers, the tokens that a prompt needs and the price of a
# million tokens. Answers are drawn to match it exactly, with a difficulty that the arms share. In your case
# ``call`` asks a model and grades what it says.
prompts = ["bare", "examples", "steps", "steps, five votes", "documents"]
shares = pd.DataFrame(
    {
        "nano": [0.20, 0.22, 0.34, 0.38, 0.26],
        "small": [0.26, 0.34, 0.50, 0.62, 0.42],
        "medium": [0.38, 0.50, 0.73, 0.76, 0.60],
        "large": [0.58, 0.62, 0.84, 0.93, 0.74],
    },
    index=prompts,
)
tokens = dict(zip(prompts, [150, 900, 600, 3200, 4000], strict=True))
dollars = {"nano": 0.1, "small": 0.5, "medium": 3.0, "large": 15.0}

QUESTIONS = 1000
rng = np.random.default_rng(1)
hard, length = rng.normal(size=(2, QUESTIONS))
right, cents = {}, {}
for model in shares:
    for prompt in prompts:
        arm = f"{model}: {prompt}"
        difficulty = np.sqrt(0.8) * hard + np.sqrt(0.2) * rng.normal(size=QUESTIONS)
        easiest = np.argsort(difficulty)[
            : round(shares.loc[prompt, model] * QUESTIONS)
        ]
        right[arm] = np.isin(np.arange(QUESTIONS), easiest)
        size = np.exp(0.4 * length + 0.2 * rng.normal(size=QUESTIONS))
        cents[arm] = 1e-4 * dollars[model] * tokens[prompt] * size


def call(arm, question):
    return {"right": right[arm][question], "cents": cents[arm][question]}


# %%
# The evaluation
# --------------
# ``evaluate`` calls the function for the arms and questions that inform most, on eight workers at once, and stops when the Pareto
# set is known. Prices span a factor of thousands, so their logarithms are compared.
found = psips.evaluate(
    arms=list(right),
    items=range(QUESTIONS),
    run=call,
    objectives={
        "right": {"direction": "max", "kind": "binary"},
        "cents": {"direction": "min", "transform": "log"},
    },
    workers=8,
    delta=0.05,
    seed=1,
)
print("stopped:", found.stopped)
print("\n".join(found.pareto_set))

# %%
# What it saved
# -------------
# Hopeless arms get about thirty calls each. Where an expensive arm is among them, that saves most of the money.
calls = found.session.pulls
whole = sum(costs.sum() for costs in cents.values()) / 100
paid = sum(cents[arm].mean() * n for arm, n in calls.items()) / 100
print(f"{found.results:,} of {len(right) * QUESTIONS:,} calls")
print(f"about {paid:,.0f} dollars; the whole table costs {whole:,.0f}")

# %%
# A line for each arm, a column for each question in the order in which they are put. White was never asked.
order = sorted(right, key=lambda arm: cents[arm].mean())
sequence = [int(name) for name in found.session.problem.items]
seen = np.full((len(order), QUESTIONS), np.nan)
for row, arm in enumerate(order):
    seen[row, : calls[arm]] = right[arm][sequence[: calls[arm]]]
figure, ax = plt.subplots(figsize=(8.4, 5.0))
ax.imshow(
    seen,
    aspect="auto",
    interpolation="none",
    cmap=ListedColormap(["#E69F00", "#0072B2"]),
)
ax.set_yticks(range(len(order)), order, fontsize=8)
for label in ax.get_yticklabels():
    label.set_fontweight(
        "bold" if label.get_text() in found.pareto_set else "normal"
    )
ax.set(xlabel="question", title="blue: right, orange: wrong; bold: Pareto-optimal")
ax.spines[["top", "right"]].set_visible(False)

# %%
# What is worth having
# --------------------
# Each arm with its share of right answers and its price, as estimated; bars are two standard errors. Anything
# below the line is beaten by a cheaper arm that is right more often.
arms = found.session.status().arms[
    ["right estimate", "right se", "cents (mean of log) estimate"]
]
arms.columns = ["right", "error", "cents"]
arms["cents"] = np.exp(arms["cents"])
figure, ax = plt.subplots(figsize=(7.2, 5.0))
markers = dict(zip(prompts, "osD^v", strict=True))
colours = dict(
    zip(shares, ["#56B4E9", "#009E73", "#E69F00", "#CC79A7"], strict=True)
)
for arm, row in arms.iterrows():
    model, prompt = arm.split(": ")
    ax.errorbar(row["cents"], 100 * row["right"], yerr=200 * row["error"],
                color=colours[model], marker=markers[prompt], markersize=7, elinewidth=1)  # fmt: skip
front = arms.loc[list(found.pareto_set)].sort_values("cents")
ax.step(
    front["cents"],
    100 * front["right"],
    where="post",
    color="#666666",
    lw=1,
    zorder=0,
)
for text, mark in markers.items():
    ax.plot([], [], mark, color="#666666", label=text)
for text, colour in colours.items():
    ax.plot([], [], "-", color=colour, lw=4, label=text)
ax.set(xscale="log", xlabel="cents a question", ylabel="right answers, %")
ax.xaxis.set_major_formatter("{x:g}")
ax.legend(frameon=False, fontsize=8, loc="upper left")
ax.spines[["top", "right"]].set_visible(False)

# %%
# If the table exists already, ``psips matrix scores.csv --objective right --objective cents=min`` says which of
# its cells would have been enough.
