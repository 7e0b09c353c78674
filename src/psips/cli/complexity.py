"""``psips complexity``: how many samples an instance takes at least, and of which arms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.screen import check_sizes, number, output, progress_line

if TYPE_CHECKING:
    from psips.geometry import Complexity
    from psips.instances import Instance

SHOWN = 30  # arms listed before those with the least weight are left out

Number = float | None
Count = int | None


def complexity(
    instance: Annotated[
        str, typer.Argument(help="A built-in instance (see `psips instances`) or a TOML file.")
    ],
    delta: Annotated[
        Number, typer.Option(help="Accepted probability of a wrong answer.  [default: 0.1]")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Largest relative duality gap of T* to accept.")
    ] = 0.001,
    rho: Annotated[Number, typer.Option(help="Correlation, of 'correlated'.")] = None,
    k: Annotated[Count, typer.Option("--k", help="Arms, of random instances.")] = None,
    d: Annotated[Count, typer.Option("--d", help="Objectives, of random instances.")] = None,
    max_complexity: Annotated[
        Number, typer.Option(help="Largest hardness H of a random instance.")
    ] = None,
    instance_seed: Annotated[Count, typer.Option(help="Which random instance to take.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute the characteristic time T*, the best shares of pulls, and lower bounds."""
    from psips.instances import BUILDERS, load
    from psips.problem_file import read_problem_file

    check_sizes(k, d)
    params = {"rho": rho, "K": k, "d": d, "max_complexity": max_complexity}
    params["seed"] = instance_seed
    made = load(
        instance, **{name: value for name, value in params.items() if value is not None}
    )
    if delta is None and instance not in BUILDERS:
        delta = read_problem_file(instance).delta
    delta = 0.1 if delta is None else delta
    with progress_line("computing"):
        from psips.geometry import complexity as compute

        found = compute(made.problem, made.theta, tolerance=tolerance)
    figures = {
        "instance": made.name,
        "params": made.params,
        "delta": delta,
        "t_star": found.t_star,
        "gap": found.gap,
        "lower_bound_kl": found.lower_bound_kl(delta),
        "lower_bound_log": found.lower_bound_log(delta),
        "hardness": found.hardness,
        "pareto_set": list(found.pareto_set),
        "weights": found.weights,
        "gaps": found.gaps,
    }
    if as_json:
        typer.echo(json.dumps(figures, indent=2))
    else:
        _show(made, found, figures)


def _show(made: Instance, found: Complexity, figures: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    params = ", ".join(f"{name}={value}" for name, value in made.params.items())
    console = output()
    console.print(f"[bold]{escape(made.name)}[/bold] {escape(params)}".strip())
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column()
    table.add_column()
    table.add_row("T*", f"{found.t_star:,.4g} (at most {found.gap:.2%} more)")
    at = f"at delta {figures['delta']:.10g}"
    table.add_row(f"samples {at}", f"at least {number(figures['lower_bound_kl'])} expected")
    table.add_row("by the simpler bound", number(figures["lower_bound_log"]))
    table.add_row("hardness H", f"{found.hardness:,.4g}")
    table.add_row("Pareto set", escape(", ".join(found.pareto_set)))
    console.print(table)
    console.print()
    table = Table(box=None, pad_edge=False)
    table.add_column("arm")
    for title in ("share of pulls", "gap"):
        table.add_column(title, justify="right")
    table.add_column("optimal")
    by_weight = sorted(found.weights.items(), key=lambda item: -item[1])
    problem = made.problem
    for arm, weight in by_weight[:SHOWN]:
        answer = "" if problem.transductive else problem.answers[problem.answer_index(arm)]
        optimal = answer in found.pareto_set
        gap = f"{found.gaps[answer]:.4g}" if answer else ""
        style = "bold green" if optimal else None
        table.add_row(
            escape(arm), f"{weight:.1%}", gap, "optimal" if optimal else "", style=style
        )
    console.print(table)
    if len(by_weight) > SHOWN:
        rest = sum(weight for _, weight in by_weight[SHOWN:])
        console.print(
            f"and {len(by_weight) - SHOWN} more arms, {rest:.1%} together", style="dim"
        )
