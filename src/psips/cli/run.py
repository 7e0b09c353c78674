"""``psips run``: commands measured side by side until the Pareto set is known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from psips.cli.reading import DEFAULT
from psips.cli.study_options import Json, Overwrite, StoreUrl
from psips.errors import InputError, quote
from psips.interruptible import INTERRUPTED

if TYPE_CHECKING:
    from psips.commands.metrics import Metric


class Scanning(TyperCommand):
    """Takes ``-P name values`` in two words, as well as in one with ``=``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words."""
        return super().parse_args(ctx, joined(args))


def joined(words: Sequence[str]) -> list[str]:
    """Make one word of the name and the values of a parameter.

    Examples
    --------
    >>> joined(["cc -{o} x.c", "-P", "o", "O0,O2", "-P", "n=1..3"])
    ['cc -{o} x.c', '-P', 'o=O0,O2', '-P', 'n=1..3']
    """
    found: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        found.append(word)
        if word == "--":
            return found + rest
        if word in ("-P", "--parameter") and len(rest) > 1 and "=" not in rest[0]:
            name, values = rest.pop(0), rest.pop(0)
            if f"{{{name}}}" in values:
                raise InputError(
                    f"-P {name} has a command for its values, {quote(values)}: write them in "
                    f"between, as in -P {name} 1,6,9"
                )
            found.append(f"{name}={values}")
    return found


def run(
    commands: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="Commands to compare, each quoted."),
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-P",
            metavar="NAME VALUES",
            help="Values for {NAME} in commands: O0,O1,O2 or 1..9; all combinations are run.",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="METRIC",
            help="time, cpu, memory, size=FILE, NAME=REGEX or NAME=json:PATH of the output; "
            "once for each.  [default: time and memory]",
        ),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="NAME", help="Metric of which more is better."),
    ] = None,
    less: Annotated[
        list[str] | None,
        typer.Option("--min", metavar="NAME", help="Metric of which less is better."),
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]AMOUNT",
            help="Differences up to it do not matter, of one metric or of all; 0 for none.  "
            "[default: 2% of times, memory and sizes]",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMIT",
            help="Exclude options that break it: 'memory <= 100MB', 'exit <= 0'; repeatable.",
        ),
    ] = None,
    time_limit: Annotated[
        str,
        typer.Option("--time-limit", metavar="TIME", help="Longest time to measure: 90s, 1h."),
    ] = "10min",
    delta: Annotated[float, typer.Option(help="Accepted probability of a wrong set.")] = 0.1,
    warmup: Annotated[
        int, typer.Option("--warmup", "-w", min=0, help="First runs of each, not counted.")
    ] = 1,
    prepare: Annotated[
        list[str] | None,
        typer.Option(
            "--prepare",
            "-p",
            metavar="COMMAND",
            help="Run before each run, not measured; one for all, or one for each command.",
        ),
    ] = None,
    cleanup: Annotated[
        list[str] | None,
        typer.Option("--cleanup", "-c", metavar="COMMAND", help="Run after each run."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Exclude options of which a run takes longer: 10s."),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", "-n", metavar="NAME", help="Name of a command; once for each, in order."
        ),
    ] = None,
    shell: Annotated[
        str,
        typer.Option(
            "--shell", "-S", metavar="SHELL", help="Shell for the commands; none for no shell."
        ),
    ] = "sh",
    stdin: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="File for standard input.")
    ] = None,
    pin: Annotated[
        str | None,
        typer.Option(metavar="CORES", help="Keep commands on these cores, as 3 or 2,3."),
    ] = None,
    log: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Compare logarithms of a metric, as of times."),
    ] = None,
    exact: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Metric without noise, as sizes of files are."),
    ] = None,
    noisy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Size of a file that varies from run to run."),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Option that limits and percentages are relative to."
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Keep runs as a study; the same command line goes on with it."
        ),
    ] = None,
    store: StoreUrl = DEFAULT,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the order of the runs.")
    ] = None,
    export: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Write FILE.json, .csv, .md or .html; several times."
        ),
    ] = None,
    force: Overwrite = False,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORM",
            help="Format of the output: text, json, or github (Markdown).",
        ),
    ] = "text",
    as_json: Json = False,
) -> None:
    """Measure commands until it is known which are Pareto-optimal.

    Runs are interleaved in rounds, so that what slows the machine cancels. Commands that are
    hard to tell apart run most often. It ends once the Pareto set is known.
    """
    from psips.cli.run_exports import check_exports, write_exports
    from psips.commands.measuring import Measuring, Question
    from psips.commands.metrics import read_metrics
    from psips.commands.options import make_options, read_parameters
    from psips.commands.running import Runner, read_cores
    from psips.errors import unknown
    from psips.input.durations import read_duration
    from psips.problem.limits import limited_metric

    if form not in ("text", "json", "github"):
        raise unknown("--format", form, ("text", "json", "github"))
    check_exports(export or [], force)
    options = make_options(
        commands, read_parameters(parameter or []), name or [], prepare or [], cleanup or []
    )
    metrics = read_metrics(
        metric or [],
        [limited_metric(text) for text in limit or []],
        _ways(more or [], less or []),
        log or [],
        exact or [],
        noisy or [],
    )
    question = Question(
        delta=delta,
        tolerance=_tolerance(tolerance or [], metrics),
        limits=limit or [],
        control=control,
        time_limit=read_duration("the time limit", time_limit),
        warmup=warmup,
        seed=seed,
    )
    runner = Runner(
        shell=shell,
        timeout=None if timeout is None else read_duration("the timeout", timeout),
        input=_readable(stdin),
        cores=None if pin is None else read_cores(pin),
    )
    where = None
    if study is not None:
        from psips.cli.reading import checked_store

        where = (study, checked_store(store))
    measuring = Measuring(options, metrics, question, runner, where)
    from psips.cli.run_screen import show_found, watched

    with watched(measuring):
        measuring.go()
    from psips.commands.concluding import found_by

    found = found_by(measuring)
    write_exports(export or [], found)
    show_found(found, form, as_json or form == "json")
    if measuring.interrupted:
        raise typer.Exit(INTERRUPTED)


def _ways(more: Sequence[str], less: Sequence[str]) -> dict[str, str]:
    for name in more:
        if name in less:
            raise InputError(f"{quote(name)} was given with --max and --min: give one")
    return {**dict.fromkeys(more, "max"), **dict.fromkeys(less, "min")}


def _tolerance(
    given: Sequence[str], metrics: Sequence[Metric]
) -> dict[str, float | str] | None:
    """Read tolerances by metric; one without a name is for all of them."""
    from psips.cli.matrix import read_tolerance
    from psips.errors import unknown

    if not given:
        return None
    aims = {metric.name: metric for metric in metrics if metric.direction != "limit"}
    read = read_tolerance(given)
    named = read if isinstance(read, dict) else dict.fromkeys(aims, read)
    for name, amount in named.items():
        if name not in aims:
            raise unknown("metric of --tolerance", name, [*aims])
        if aims[name].log and not isinstance(amount, str) and amount != 0:
            raise InputError(
                f"the tolerance on {quote(name)} must be a percentage such as 2%, since ratios "
                f"are compared, got {amount:g}"
            )
    return dict(named)


def _readable(path: Path | None) -> Path | None:
    """Refuse an input that cannot be read, before anything is run."""
    if path is None:
        return None
    try:
        with path.open("rb"):
            return path.absolute()
    except OSError as error:
        raise InputError(
            f"cannot read the input {quote(str(path))}: {error.strerror}"
        ) from None
