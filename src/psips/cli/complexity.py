"""``psips complexity``: how many samples an instance takes at least, and of which arms."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from psips.cli.instance_options import read_instance, with_tolerance
from psips.cli.screen import number, output, progress_line

if TYPE_CHECKING:
    from psips.problem.instances import Instance
    from psips.theory.geometry import Complexity

SHOWN = 30  # arms listed before those with the least weight are left out

Number = float | None


def complexity(
    context: typer.Context,
    instance: Annotated[
        str, typer.Argument(help="A built-in instance (see `psips instances`) or a TOML file.")
    ],
    delta: Annotated[
        Number, typer.Option(help="Accepted probability of being wrong.  [default: 0.1]")
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option(
            help="Largest difference that does not matter: 0.1, or '5%' of the control."
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(help="Largest relative duality gap of T* to accept.")
    ] = 0.001,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Compute how hard an instance is.

    The characteristic time T*, the best shares of the pulls, and lower bounds on samples.

    Parameters of a built-in instance are options too, as in `psips complexity worse --d 3`;
    `psips instances` lists them. The parameter `seed` is `--instance-seed`.
    """
    from psips.lab.instances import BUILDERS
    from psips.lab.loading import load
    from psips.problem.problem_file import read_problem_file

    name, params = read_instance(context, instance)
    made = with_tolerance(load(name, **params), epsilon)
    if delta is None and name not in BUILDERS:
        delta = read_problem_file(name).delta
    delta = 0.1 if delta is None else delta
    with progress_line("computing"):
        from psips.theory.geometry import complexity as compute

        found = compute(made.known, made.theta, tolerance=tolerance)
    figures = {
        "instance": made.name,
        "params": made.params,
        "delta": delta,
        "t_star": found.t_star,
        "gap": found.gap,
        "lower_bound_kl": found.lower_bound_kl(delta),
        "lower_bound_log": found.lower_bound_log(delta),
        "hardness": None if made.problem.limits else found.hardness,
        "pareto_set": list(found.pareto_set),
        "unique": found.unique,
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
    costs = ", in cost" if made.problem.has_costs else ""
    table.add_row("T*", f"{found.t_star:,.4g} (at most {found.gap:.2%} more){costs}")
    at = f"at delta {figures['delta']:.10g}"
    unit = "cost" if made.problem.has_costs else "samples"
    if found.unique:
        table.add_row(f"{unit} {at}", f"at least {number(figures['lower_bound_kl'])} expected")
        table.add_row("by the simpler bound", number(figures["lower_bound_log"]))
    else:
        table.add_row(f"{unit} {at}", "no bound is known: other sets are right too")
    if not made.problem.limits:
        table.add_row("hardness H", f"{found.hardness:,.4g}")
    table.add_row(
        "Pareto set", escape(", ".join(found.pareto_set) or "nothing keeps the limits")
    )
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
        gap = f"{found.gaps[answer]:.4g}" if answer in found.gaps else ""
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
