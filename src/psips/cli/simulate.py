"""``psips simulate``: run an instance many times and sum up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.instance_options import read_instance, with_tolerance
from psips.cli.screen import number, output, progress_bar, progress_line
from psips.rules import CALIBRATION, DRAWS, SAMPLING, STOPPING, TRACKING, Rules

if TYPE_CHECKING:
    from psips.simulation import Run, Summary

SHOWN = 30  # arms listed before the least pulled are left out

Text = str | None
Number = float | None
Count = int | None


def _names(table: Mapping[str, object]) -> str:
    """Return the names of a table of rules as one reads them."""
    *others, last = table
    return f"{', '.join(others)} or {last}"


def simulate(
    context: typer.Context,
    instance: Annotated[
        str, typer.Argument(help="A built-in instance (see `psips instances`) or a TOML file.")
    ],
    delta: Annotated[
        Number, typer.Option(help="Accepted probability of being wrong.  [default: 0.1]")
    ] = None,
    confidence: Annotated[
        Number, typer.Option(help="The same as 1 - delta; give one of them.")
    ] = None,
    runs: Annotated[int, typer.Option(help="How many experiments to simulate.")] = 100,
    seed: Annotated[
        Count, typer.Option(help="Seed of the random numbers.  [default: 0]")
    ] = None,
    sampling: Annotated[
        Text,
        typer.Option(help=f"{_names(SAMPLING)}.  [default: {Rules.sampling}]"),
    ] = None,
    guarantee: Annotated[
        Text,
        typer.Option(
            help="validated, by simulation, or proven: takes the cheapest proven stopping "
            "rule, for about 1.5 times the samples.  [default: validated]"
        ),
    ] = None,
    expected_results: Annotated[
        Text,
        typer.Option(
            metavar="N",
            help="Measurements that an experiment is expected to take, as 300 or 100:1000: the "
            "threshold is lowest there. If left out, by the number of options.",
        ),
    ] = None,
    stopping: Annotated[
        Text,
        typer.Option(help=f"{_names(STOPPING)}.  [default: the sampling rule's own]"),
    ] = None,
    calibration: Annotated[
        Text,
        typer.Option(help=f"{_names(CALIBRATION)}.  [default: the stopping rule's own]"),
    ] = None,
    draws: Annotated[
        Text, typer.Option(help=f"{_names(DRAWS)}.  [default: {Rules.draws}]")
    ] = None,
    tracking: Annotated[
        Text, typer.Option(help=f"{_names(TRACKING)}.  [default: {Rules.tracking}]")
    ] = None,
    tuning: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Constant of the rules (repeat for more): eta, inflation of the draws that "
            "choose arms, a number or 'estimate'; alpha, exponent of forced exploration; "
            "kappa, factor of the budget of 'sharp'.",
        ),
    ] = None,
    eta: Annotated[Text, typer.Option(hidden=True)] = None,
    alpha: Annotated[Text, typer.Option(hidden=True)] = None,
    kappa: Annotated[Text, typer.Option(hidden=True)] = None,
    max_samples: Annotated[
        int,
        typer.Option(help="Most measurements of a run; at these it counts as not stopped."),
    ] = 10**6,
    budget: Annotated[
        Number,
        typer.Option(help="Results, or cost if arms have costs, after which a run ends."),
    ] = None,
    goal: Annotated[
        Text, typer.Option(help="'2 optimal', 'settle NAME' or 'beat control'.")
    ] = None,
    epsilon: Annotated[
        Text,
        typer.Option(
            help="Largest difference that does not matter: 0.1, or '5%' of the control."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs at a time; -1 for all cores.")] = 1,
    dask: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler to compute on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Simulate experiments. Shows how many measurements they take, and how often they err.

    Parameters of a built-in instance are options too, as in `psips simulate near-tie
    --gap 0.03`; `psips instances` lists them. The parameter `seed` is `--instance-seed`.
    """
    from psips.input.quantities import parse_expected

    rules: dict[str, Any] = {
        "delta": delta,
        "confidence": confidence,
        "sampling": sampling,
        "guarantee": guarantee,
        "expected_results": None
        if expected_results is None
        else parse_expected(expected_results),
        "stopping": stopping,
        "calibration": calibration,
        "draws": draws,
        "tracking": tracking,
        "tuning": _constants(tuning or [], alpha, {"eta": eta, "kappa": kappa}) or None,
    }
    name, params = read_instance(context, instance)
    summary = _run(
        name, params, _given(rules), seed, runs, max_samples, budget, goal, epsilon, jobs, dask
    )
    if as_json:
        typer.echo(json.dumps(summary.to_dict(), indent=2))
    else:
        _show(summary)


def _run(
    name: str,
    params: dict[str, Any],
    rules: dict[str, Any],
    seed: int | None,
    runs: int,
    max_samples: int,
    budget: float | None,
    goal: str | None,
    epsilon: str | None,
    jobs: int,
    dask: str | None,
) -> Summary:
    from psips.errors import InputError
    from psips.lab.instances import BUILDERS
    from psips.lab.loading import load
    from psips.problem.goals_and_budget import read_budget
    from psips.problem.problem_file import read_problem_file
    from psips.rules.tuning import put_over
    from psips.session import read_rules

    if max_samples < 1:
        raise InputError(f"--max-samples must be at least 1, got {max_samples}")
    made = with_tolerance(load(name, **params), epsilon)
    if name not in BUILDERS:  # what the file says holds unless the command line says otherwise
        file = read_problem_file(name)
        given = {} if file.delta is None else {"delta": file.delta}
        rules = put_over(rules, {**given, **file.rules})
        seed = file.seed if seed is None else seed
        budget = file.budget if budget is None else budget
        goal = file.goal if goal is None else goal
    read_budget(made.problem, budget)
    chosen = read_rules(made.problem, None, rules, goal)
    with progress_line("loading"):
        from psips.simulation import simulate_many
        from psips.simulation.cluster import on_dask

        warm = simulate_many(
            made,
            runs=1,
            max_results=2,
            budget=budget,
            goal=goal,
            rules=chosen,
            verdicts=True,
        )
    errors = 0
    with on_dask(dask), progress_bar("simulating", runs) as line:

        def progress(run: Run) -> None:
            nonlocal errors
            errors += run.stopped and warm.is_wrong(run)
            line(f"simulating, {errors} errors")

        return simulate_many(
            made,
            runs=runs,
            seed=0 if seed is None else seed,
            jobs=jobs,
            max_results=max_samples,
            budget=budget,
            goal=goal,
            progress=progress,
            verdicts=True,
            rules=chosen,
        )


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _constants(
    named: list[str], alpha: str | None, older: dict[str, str | None]
) -> dict[str, Any]:
    """Read constants of the rules from NAME=VALUE, and from options of earlier versions."""
    from psips.errors import InputError, quote
    from psips.input.quantities import parse_number

    if alpha is not None:
        raise InputError(
            f"--alpha {alpha}: give --delta {alpha} for the accepted probability of a wrong "
            f"answer, or --tuning alpha={alpha} for the exponent of forced exploration"
        )
    found = _given(older)
    for text in named:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--tuning must be NAME=VALUE, got {quote(text)}")
        found[name.strip()] = value.strip()
    return {
        name: text if name == "eta" and text.isalpha() else parse_number(quote(name), text)
        for name, text in found.items()
    }


def _show(summary: Summary) -> None:
    from rich.table import Table

    figures = summary.to_dict()
    settings, rules = figures["settings"], figures["settings"]["rules"]
    low, high = figures["error_interval"]
    params = ", ".join(f"{name}={value}" for name, value in settings["params"].items())
    console = output()
    console.print(f"[bold]{settings['instance']}[/bold] {params}".strip())
    calibrated = Rules.from_dict(rules).calibrated
    named = [name for name in rules if name != "calibration" or calibrated]
    chosen = ", ".join(f"{name} {rules[name]}" for name in named)
    console.print(chosen, style="dim", soft_wrap=True)

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column()
    table.add_row("stopped", f"{summary.stopped} of {summary.runs} runs")
    table.add_row(
        "errors", f"{summary.errors} (95% interval of the chance {low:.3f} to {high:.3f})"
    )
    spread = f"median {number(figures['median_samples'])}, sd {number(figures['sd_samples'])}"
    table.add_row("mean samples", f"{number(figures['mean_samples'])} ({spread})")
    if "mean_cost" in figures:
        median = f"median {number(figures['median_cost'])}"
        table.add_row("mean cost", f"{number(figures['mean_cost'])} ({median})")
    if "mean_items" in figures:
        table.add_row("mean items", number(figures["mean_items"]))
    if not summary.stopped and "budget" in settings:
        right = sum(summary.instance.is_right(run.candidate_set) for run in summary.each)
        table.add_row("candidate set right", f"{right} of {summary.runs}, nothing claimed")
    table.add_row("time a round", f"{figures['us_per_round']:.1f} us")
    table.add_row("proposals a round", f"{figures['proposals_per_round']:.2f}")
    table.add_row("time", f"{summary.seconds:.1f} s, seed {settings['seed']}")
    console.print(table)
    console.print()

    table = Table(box=None, pad_edge=False)
    table.add_column("arm")
    table.add_column("mean pulls", justify="right")
    table.add_column("optimal")
    for title in ("proven optimal", "proven dominated"):
        table.add_column(title, justify="right")
    proven = figures["proven"] or {}
    by_pulls = sorted(figures["mean_pulls"].items(), key=lambda item: -item[1])
    for arm, pulls in by_pulls[:SHOWN]:
        shares = proven.get(arm, {"in": 0.0, "out": 0.0})
        shown = [f"{share:.0%}" if share else "" for share in shares.values()]
        table.add_row(arm, number(pulls), "yes" if arm in summary.truth else "", *shown)
    console.print(table)
    console.print(
        "proven: share of runs that end with a certificate that the answer is in the Pareto "
        "set, or out of it",
        style="dim",
    )
    if len(by_pulls) > SHOWN:
        console.print(f"and {len(by_pulls) - SHOWN} more arms", style="dim")
    others = [answer for answer in summary.truth if answer not in figures["mean_pulls"]]
    if others:
        console.print(f"optimal answers that are not arms: {', '.join(others)}")
