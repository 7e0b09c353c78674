"""Studies made in the browser: from a table of past results, a design file, or nothing."""

from __future__ import annotations

import base64
import binascii
import math
import tempfile
import tomllib
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import RedirectResponse, Response

from psips.errors import InputError, quote
from psips.input.quantities import parse_number
from psips.input.tabular import Grid
from psips.input.tabular.isolated import read_upload
from psips.problem import Problem
from psips.problem.measurements import ARM
from psips.study import ProblemsError, Study
from psips.study.deliveries import read_delivery
from psips.study.drafting import Draft, draft_design, find_objectives, named_by
from psips.web.addresses import slug
from psips.web.api import MOST_ROWS
from psips.web.authentication import Person
from psips.web.forms import Owner, Posted, Sent, owner
from psips.web.problems import BAD_INPUT, code_of
from psips.web.rendering import render
from psips.web.study_cache import StudyCache
from psips.web.uploads import LARGEST_FILE, file_name

router = APIRouter(include_in_schema=False)

METRICS = 12  # rows of metrics in the form
FEW = 3  # of them shown at first
PERCENT = 90.0
DIRECTIONS = {"max": "more is better", "min": "less is better", "limit": "only limited"}
KINDS = {
    "number": "any number",
    "binary": "yes or no",
    "log": "positive (logarithm)",
    "exact": "exact, without noise",
}
FILES = ("arms", "answers", "truth", "theta", "results", "guess", "costs", "items", "blocks")
Making = Annotated[Person, Depends(owner)]


@router.get("/new")
def new(request: Request, person: Making) -> Response:
    """Say in which ways a study is made."""
    return _ways(request, person)


@router.get("/new/form")
def new_form(request: Request, person: Making) -> Response:
    """Show the form of a design with nothing in it."""
    return _form(request, person, {"confidence": f"{PERCENT:g}"})


@router.post("/new/table")
def from_table(request: Request, person: Owner, sent: Sent) -> Response:
    """Draft a design from a table of past results, and show it as a form."""
    try:
        if sent.file is None or not sent.file[1]:
            raise InputError("choose a file that is not empty")
        name, data = file_name(sent.file[0]), sent.file[1]
        grid, column = _grid(name, data, sent["arm_column"].strip())
        draft = draft_design(grid, usual="max")
    except InputError as error:
        if code_of(error) >= 500:
            raise
        return _ways(request, person, BAD_INPUT, sent.fields, {"table": _sentences(error)})
    fields = _fields_of(draft) | {
        "file": name,
        "arm_column": column,
        "data": base64.b64encode(data).decode(),
    }
    return _form(request, person, fields, drafted=draft)


@router.post("/new/toml")
def from_toml(request: Request, person: Owner, sent: Sent) -> Response:
    """Register the study of a design file."""
    text = sent["text"]
    try:
        if sent.file is not None and sent.file[1]:
            try:
                text = sent.file[1].decode()
            except UnicodeDecodeError:
                raise InputError("the design file is not text in UTF-8") from None
        _check_alone(text)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "design.toml")
            path.write_text(text, encoding="utf-8", newline="")
            made = Study.create(path, _store(request), user=person.name)
    except InputError as error:
        if code_of(error) >= 500:
            raise
        given = {**sent.fields, "text": text}
        return _ways(request, person, BAD_INPUT, given, {"toml": _sentences(error)})
    return _opened(made)


@router.post("/new/form")
def from_form(request: Request, person: Owner, sent: Sent) -> Response:
    """Register the study of a form, and enter the table that it was drafted from if wanted."""
    try:
        problem, arguments = _design(sent)
        delivery = None
        if sent["enter"] and sent["data"]:
            grid, _ = _grid(file_name(sent["file"]), _decoded(sent), sent["arm_column"])
            delivery = read_delivery(grid, problem)
        made = Study.create(problem, _store(request), user=person.name, **arguments)
        if delivery is not None:
            made.tell_delivery(delivery)
    except InputError as error:
        if code_of(error) >= 500:
            raise
        return _form(request, person, sent.fields, BAD_INPUT, _sentences(error))
    return _opened(made)


def _store(request: Request) -> Any:
    cache: StudyCache = request.app.state.cache
    return cache.store


def _opened(made: Study) -> Response:
    return RedirectResponse(f"/studies/{slug(made.name)}?done=1", 303)


def _sentences(error: InputError) -> list[str]:
    return list(error.problems)[:20] if isinstance(error, ProblemsError) else [str(error)]


def _ways(
    request: Request,
    person: Person,
    code: int = 200,
    given: dict[str, str] | None = None,
    errors: dict[str, list[str]] | None = None,
) -> Response:
    page = {"given": given or {}, "errors": errors or {}}
    return render(request, "new.html", code, person=person, **page)


def _form(
    request: Request,
    person: Person,
    given: dict[str, str],
    code: int = 200,
    errors: list[str] | None = None,
    drafted: Draft | None = None,
) -> Response:
    used = [k for k in range(METRICS) if given.get(f"metric-{k}")]
    return render(
        request,
        "new_form.html",
        code,
        person=person,
        given=given,
        errors=errors or [],
        drafted=drafted,
        rows=range(METRICS),
        shown=max(FEW, *(k + 2 for k in used), 0),
        directions=DIRECTIONS,
        kinds=KINDS,
    )


def _grid(name: str, data: bytes, column: str) -> tuple[Grid, str]:
    """Read a table; return it with the column that names the options, found if not given."""
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"a file has at most {LARGEST_FILE:,} bytes here, got {len(data):,}: leave rows out"
        )
    grid = read_upload(name, data, MOST_ROWS)
    if not column and ARM not in grid.header:
        _, others = find_objectives(grid)
        column = next((one for one, why in others.items() if why == "is text"), "")
    return named_by(grid, column or None), column


def _decoded(sent: Posted) -> bytes:
    try:
        return base64.b64decode(sent["data"], validate=True)
    except (binascii.Error, ValueError):
        raise InputError("the table did not come along: choose it again") from None


def _fields_of(draft: Draft) -> dict[str, str]:
    """Write a draft into the fields of the form."""
    problem = draft.problem
    fields = {
        "name": problem.name,
        "options": "\n".join(problem.arms),
        "confidence": f"{PERCENT:g}",
        "partial": "yes" if problem.partial else "",
        "blocks": "yes" if problem.has_items else "",
    }
    for k, (name, way, scale) in enumerate(
        zip(problem.objectives, problem.directions, problem.scales, strict=True)
    ):
        kind = "binary" if scale.binary else "exact" if scale.exact else "number"
        fields |= {f"metric-{k}": name, f"direction-{k}": way, f"kind-{k}": kind}
        fields[f"guessed-{k}"] = "yes" if name in draft.guessed else ""
    return fields


def _design(sent: Posted) -> tuple[Problem, dict[str, Any]]:
    """Read the form of a design."""
    options = [line.strip() for line in sent["options"].splitlines() if line.strip()]
    if not options:
        raise InputError("there are no options: write each on a line of its own")
    metrics: dict[str, dict[str, str]] = {}
    sds: dict[str, float] = {}
    tolerance: dict[str, Any] = {}
    for k in range(METRICS):
        name = sent[f"metric-{k}"].strip()
        if not name:
            continue
        if name in metrics:
            raise InputError(f"the metric {quote(name)} is there twice: name each once")
        kind = sent[f"kind-{k}"] or "number"
        if kind not in KINDS:
            raise InputError(f"choose a kind of value for {quote(name)}, got {quote(kind)}")
        metrics[name] = {"direction": sent[f"direction-{k}"] or "max"}
        if kind == "log":
            metrics[name]["transform"] = "log"
        elif kind != "number":
            metrics[name]["kind"] = kind
        if sent[f"sd-{k}"].strip():
            what = f"the standard deviation of {quote(name)}"
            sds[name] = parse_number(what, sent[f"sd-{k}"].strip())
            if not sds[name] > 0.0:
                raise InputError(f"{what} must be positive, got {sds[name]:g}")
        if sent[f"tolerance-{k}"].strip():
            amount = sent[f"tolerance-{k}"].strip()
            what = f"the tolerance of {quote(name)}"
            tolerance[name] = amount if amount.endswith("%") else parse_number(what, amount)
    if not metrics:
        raise InputError("there are no metrics: name at least one")
    problem = Problem(
        objectives=metrics,
        arms=options,
        covariance=_variances(metrics, sds),
        epsilon=tolerance or None,
        limits=[line.strip() for line in sent["limits"].splitlines() if line.strip()] or None,
        control=sent["control"].strip() or None,
        partial=bool(sent["partial"]),
        items=bool(sent["blocks"]),
    )
    return problem, _arguments(sent)


def _variances(metrics: dict[str, dict[str, str]], sds: dict[str, float]) -> Any:
    """Return variances if standard deviations were given; None if they are to be estimated."""
    if not sds:
        return None
    lacking = [m for m, said in metrics.items() if m not in sds and said.get("kind") != "exact"]
    if lacking:
        raise InputError(
            f"{quote(lacking[0])} has no standard deviation: give one for each metric, or for "
            "none, and they are estimated from the measurements"
        )
    return [sds.get(name, 0.0) ** 2 for name in metrics]


def _arguments(sent: Posted) -> dict[str, Any]:
    """Return the arguments of the study besides its problem."""
    percent = parse_number("the confidence", sent["confidence"].strip().removesuffix("%"))
    if not (math.isfinite(percent) and 50.0 <= percent < 100.0):
        raise InputError(f"the confidence must lie between 50% and 100%, got {percent:g}%")
    arguments: dict[str, Any] = {"name": sent["name"], "confidence": round(percent / 100.0, 10)}
    if sent["guarantee"] == "proven":
        arguments["guarantee"] = "proven"
    if sent["budget"].strip():
        arguments["budget"] = parse_number("the budget", sent["budget"].strip())
    return arguments


def _check_alone(text: str) -> None:
    """Refuse a design file that names other files: it would read them from the server."""
    if not text.strip():
        raise InputError("choose a design file, or write one here")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is not TOML: {error}") from None
    given = {key: data.get(key) for key in FILES}
    prior = data.get("prior")
    if isinstance(prior, dict):
        given["means"] = prior.get("means")
    for key, value in given.items():
        if isinstance(value, str):
            raise InputError(
                f"{key} = {quote(value)} names a file, and no files come along here: write "
                f"what it says into the design, or use `psips study create`"
            )
