"""Logs of evaluations as a table of scores: options by items.

Options are models, or whatever else differs between the logs. Epochs, the repeats of an item,
say the less the more they are alike: the mean over them is one value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import isnan
from os import PathLike
from pathlib import Path

from psips.errors import InputError, counted, listing, quote, unknown
from psips.evaluation.inspect_logs import (
    is_eval,
    looks_like_inspect,
    read_eval,
    read_inspect_json,
)
from psips.evaluation.lm_eval_logs import looks_like_lm_eval, read_lm_eval
from psips.evaluation.log import FILE, MODEL, MOST_SAMPLES, NAMED, TASK, Log
from psips.evaluation.run_exports import looks_like_run, read_run
from psips.evaluation.scores import Scores, arranged, read_scores
from psips.input.files import shown
from psips.problem.measurements import ITEM

HEAD = 4096  # bytes by which a file is known
MOST_FILES = 10_000
INSPECT, INSPECT_JSON, LM_EVAL = "Inspect", "Inspect (JSON)", "lm-evaluation-harness"
RUN = "psips run"
READERS = {INSPECT: read_eval, INSPECT_JSON: read_inspect_json, LM_EVAL: read_lm_eval}


def read_evaluations(
    files: Sequence[str],
    metrics: Sequence[str] = (),
    arm: str | None = None,
    item: str = ITEM,
    *,
    maps: Mapping[str, str] | None = None,
    repeats: bool = False,
    log: Collection[str] = (),
    sheet: str | None = None,
) -> Scores:
    """Read logs, or tables as `read_scores` reads them."""
    wide = any("=" in file and not Path(file).exists() for file in files)
    logs = [] if wide else find_logs(files)
    if not logs:
        wanted = () if wide else metrics
        return read_scores(
            files, wanted, arm, item, maps=maps, repeats=repeats, log=log, sheet=sheet
        )
    if any(kind == RUN for _, kind in logs):
        if len(logs) > 1:
            raise InputError("an export of psips run is read alone: name one file")
        return read_run(logs[0][0], list(metrics))
    for option, given in (("--map", maps), ("--sheet", sheet), ("--item", item != ITEM)):
        if given:
            raise InputError(f"{option} is for tables, and {files[0]} is a log: leave it out")
    return read_logs(logs, metrics, arm, repeats=repeats, log=log)


def find_logs(files: Sequence[str | PathLike[str]]) -> list[tuple[Path, str]]:
    """Return the logs among files and in folders, with their kind; none if these are tables."""
    found: list[tuple[Path, str]] = []
    others: list[Path] = []
    for path in map(Path, files):
        if path.is_dir():
            inside = _in_folder(path)
            if not inside:
                raise InputError(
                    f"the folder {shown(path)} has no logs: .eval or .json files of Inspect, "
                    f"or samples_*.jsonl of lm-evaluation-harness"
                )
            found += inside
        elif kind := kind_of(path):
            found.append((path, kind))
        else:
            others.append(path)
    if found and others:
        raise InputError(f"{shown(others[0])} is not a log of an evaluation, as the others are")
    return list(dict(found).items())


def kind_of(path: Path) -> str:
    """Return of which kind a log is, seen from its first bytes; empty for all else."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            head = file.read(HEAD)
    except (OSError, ValueError):
        return ""
    if head.startswith(b"PK"):
        return INSPECT if is_eval(path) else ""
    if looks_like_lm_eval(head):
        return LM_EVAL
    if head.lstrip().startswith(b"{") and looks_like_run(head):
        return RUN
    if head.lstrip().startswith(b"{") and (looks_like_inspect(head) or path.suffix == ".json"):
        return INSPECT_JSON
    return ""


def _in_folder(folder: Path) -> list[tuple[Path, str]]:
    found = []
    seen = 0
    for path in sorted(folder.rglob("*")):
        seen += 1
        if seen > MOST_FILES:
            raise InputError(
                f"the folder {shown(folder)} has more than {MOST_FILES:,} files: name the logs"
            )
        if path.suffix == ".eval" or path.match("samples_*.jsonl"):
            kind = kind_of(path)
        elif path.suffix == ".json" and not path.match("results_*.json"):
            kind = kind_of(path) if _is_inspect_json(path) else ""
        else:
            continue
        if kind:
            found.append((path, kind))
    return found


def _is_inspect_json(path: Path) -> bool:
    with path.open("rb") as file:
        return looks_like_inspect(file.read(HEAD))


def read_logs(
    files: Sequence[tuple[Path, str]],
    metrics: Sequence[str] = (),
    by: str | None = None,
    *,
    repeats: bool = False,
    log: Collection[str] = (),
) -> Scores:
    """Read logs as a table of scores.

    Parameters
    ----------
    files : list of (path, kind)
        As `find_logs` returns them.
    metrics : names
        If left out, all scores, and cost, or tokens where no cost is known.
    by : str, optional
        What an option is called by: model, task, solver, file, or a setting. If left out: the
        model, and the settings by which logs of one model and task differ.
    repeats : bool
        Whether several logs of one option and task are repeats.
    log : names
        Metrics whose logarithms are compared.
    """
    logs = [READERS[kind](path) for path, kind in files]
    if sum(len(one.samples) for one in logs) > MOST_SAMPLES:
        raise InputError(f"the logs have more than {MOST_SAMPLES:,} samples: read fewer")
    names = name_options(logs, by, repeats)
    tasks = {one.names[TASK] for one in logs}
    in_item = len(tasks) > 1 and by != TASK
    chosen, spare = _chosen(logs, metrics)
    cells: dict[tuple[str, tuple[str, ...]], list[list[float]]] = {}
    for name, one in zip(names, logs, strict=True):
        for item, values in one.samples:
            parts = (one.names[TASK], item) if in_item else (item,)
            row = [values.get(metric, float("nan")) for metric in chosen]
            if all(map(isnan, row)):
                continue  # of a task with other metrics
            cells.setdefault((name, parts), []).append(row)
    if not cells:
        raise InputError("the logs have no sample with a score")
    left_out = {metric: why for one in logs for metric, why in one.left_out.items()}
    left_out = {metric: why for metric, why in left_out.items() if metric not in chosen}
    ways = {metric: way for one in logs for metric, way in one.ways.items()}
    table = arranged(cells, chosen, left_out, 0, log)
    return table._replace(
        notes=tuple(_notes(logs, names, cells, spare, in_item)),
        ways={metric: way for metric, way in ways.items() if metric in chosen},
    )


def name_options(logs: Sequence[Log], by: str | None, repeats: bool) -> list[str]:
    """Return what the option of each log is called."""
    if by is not None:
        known = sorted({key for one in logs for key in one.names})
        if by not in known:
            raise unknown("name of options (--arm)", by, known)
        names = [one.names.get(by, f"no {by}") for one in logs]
    else:
        names = _apart(logs)
    same = Counter((name, one.names[TASK]) for name, one in zip(names, logs, strict=True))
    for (name, task), count in same.items():
        if count > 1 and not repeats and by != TASK:
            raise InputError(
                f"{count} logs are of {quote(name)} on task {quote(task)} with the same "
                f"settings: leave out those that do not count, compare them with --arm {FILE}, "
                f"or say with --repeats that they are repeats"
            )
    return names


def _apart(logs: Sequence[Log]) -> list[str]:
    """Return the models, with the settings by which logs of one model and task differ."""
    groups: dict[tuple[str, str], list[Log]] = {}
    for one in logs:
        groups.setdefault((one.names[MODEL], one.names[TASK]), []).append(one)
    telling: dict[str, None] = {}
    for group in groups.values():
        keys = dict.fromkeys(key for one in group for key in one.names)
        for key in keys:
            if key not in (MODEL, TASK, FILE) and len({o.names.get(key) for o in group}) > 1:
                telling[key] = None
    names = []
    for one in logs:
        parts = [f"{key}={one.names[key]}" for key in telling if key in one.names]
        parts = [part.removeprefix("solver=") for part in parts]
        names.append(", ".join([one.names[MODEL], *parts])[:NAMED])
    return names


def _chosen(logs: Sequence[Log], metrics: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the metrics to compare, and those that are there besides."""
    known = dict.fromkeys(m for one in logs for _, values in one.samples for m in values)
    for metric in metrics:
        if metric not in known:
            raise unknown("metric of the logs", metric, list(known))
    if metrics:
        return list(metrics), []
    extra = {metric for one in logs for metric in one.extra}
    if "tokens" in known and "cost" not in known:
        extra.discard("tokens")
    chosen = [metric for metric in known if metric not in extra]
    if not chosen:
        chosen = list(known)
    return chosen, [metric for metric in known if metric not in chosen]


def _notes(
    logs: Sequence[Log],
    names: Sequence[str],
    cells: Mapping[tuple[str, tuple[str, ...]], Sequence[object]],
    spare: Sequence[str],
    in_item: bool,
) -> list[str]:
    """Say how the logs were read."""
    options = list(dict.fromkeys(names))
    items = {item for _, item in cells}
    notes = [
        f"{counted(len(logs), 'log')}: {counted(len(options), 'option')}, "
        f"{counted(len(items), 'item')}"
    ]
    several = max(map(len, cells.values()))
    if several > 1:
        notes.append(
            f"items have up to {several} epochs: what is compared is the mean over the epochs "
            f"of an item"
        )
    if spare:
        notes.append(f"{listing(spare)} are in the logs too: compare them with --objective")
    failed = Counter[str]()
    for name, one in zip(names, logs, strict=True):
        failed[name] += one.failed
        if one.state:
            notes.append(f"{name}: the evaluation did not end as planned (status {one.state})")
    if total := failed.total():
        each = ", ".join(f"{name} {n:,}" for name, n in failed.items() if n)
        notes.append(
            f"{counted(total, 'sample')} that ended in an error left out ({each}): if errors "
            f"are failures of the option, score them as such (Inspect: score_on_error)"
        )
    if len(options) > 1:
        shared = Counter(item for _, item in cells)
        if max(shared.values()) == 1:
            notes.append(
                "no item was put to two options, so options are compared without items: are "
                "these the logs that belong together?"
            )
    notes += _differing(logs, in_item)
    return notes


def _differing(logs: Sequence[Log], in_item: bool) -> list[str]:
    """Say how many items are not the same sample in all logs."""
    marks: dict[tuple[str, str], set[str]] = {}
    for one in logs:
        for item, mark in one.marks.items():
            marks.setdefault((one.names[TASK] if in_item else "", item), set()).add(mark)
    other = sum(len(each) > 1 for each in marks.values())
    if not other:
        return []
    return [
        f"{other:,} of {len(marks):,} items have another input or target in some logs: items "
        f"are told apart by their ids, so check that the ids mean the same"
    ]
