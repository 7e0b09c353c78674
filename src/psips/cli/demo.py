"""``psips demo``: a simulated vaccine trial from its first patient to its answer."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from psips.cli.screen import number, output, progress_line
from psips.input.digits import estimate

if TYPE_CHECKING:
    from psips.problem.instances import Instance
    from psips.session import Session
    from psips.simulation import Run

CAP = 500_000  # samples of a trial


def demo(
    delta: Annotated[float, typer.Option(help="Accepted probability of being wrong.")] = 0.1,
    seed: Annotated[
        int, typer.Option(help="Seed of the random numbers; another seed is another trial.")
    ] = 2,
) -> None:
    """Simulate a vaccine trial, and find its best boosters.

    The means and the noise are those of COV-BOOST: 20 boosters, three immune responses.
    """
    from psips.lab.instances import instance
    from psips.rules import Rules

    made = instance("cov-boost")
    rules = Rules(delta=delta)
    begin = perf_counter()
    with progress_line("loading") as line:
        from psips.input.seeds import draw_key, generator
        from psips.session import Session
        from psips.simulation import play
        from psips.simulation.environments import environment_of

        environment = environment_of(made)

        def trial(title: str, rules: Rules) -> tuple[Session, Run]:
            def watch(session: Session) -> None:
                found = ", ".join(session.candidate_set)
                line(f"{title}: {number(session.results)} measurements, candidate set: {found}")

            rng = generator(seed)
            session = Session(made.problem, rules=rules, rng=rng)
            key = draw_key(rng)  # the same noise for both trials
            return session, play(
                session, environment, key, max_results=CAP, watch=watch, every=500
            )

        session, run = trial("psips", rules)
        uniform = Rules(delta=delta, sampling="round-robin")
        _, plain = trial("uniform sampling", uniform)
    _show(made, session, run, plain)
    output().print(
        f"{perf_counter() - begin:.1f} s in all; another trial: psips demo --seed {seed + 1}"
    )


def _show(made: Instance, session: Session, run: Run, plain: Run) -> None:
    from rich.table import Table

    from psips.rules.promises import short_promise
    from psips.session.status import arms_table

    problem = made.problem
    console = output()
    console.print(
        f"COV-BOOST: which of {problem.K} boosters are Pareto-optimal in "
        f"{', '.join(problem.objectives)}?\n"
    )
    table = Table(box=None, pad_edge=False)
    table.add_column("booster")
    for title in ("measured", *problem.objectives):
        table.add_column(title, justify="right")
    table.add_column("found")
    table.add_column("truth")
    for arm, row in arms_table(problem, session.engine).iterrows():
        cells = [estimate(row[f"{o} estimate"], row[f"{o} se"]) for o in problem.labels]
        found = "optimal" if arm in run.candidate_set else ""
        truth = "optimal" if arm in made.pareto_set else ""
        style = "bold green" if found and truth else "bold" if found or truth else None
        table.add_row(str(arm), number(row["pulls"]), *cells, found, truth, style=style)
    console.print(table)
    console.print()
    if run.stopped:
        right = "" if made.is_right(run.candidate_set) else " (which is wrong)"
        console.print(
            f"psips stopped after [bold]{number(run.results)}[/bold] measurements, with "
            f"{short_promise(session.rules)}{right}."
        )
    else:
        console.print(f"psips did not stop within {number(run.results)} measurements.")
    more = "" if plain.stopped else "more than "
    console.print(
        f"Measuring all boosters equally often, with the same stopping rule and noise, takes "
        f"{more}{number(plain.results)}."
    )
