"""Files of a study: to save, to print, and what charts are drawn from."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from psips.input.escaping import as_json
from psips.pictures import svg
from psips.study import Study
from psips.study.exports import as_csv, as_data
from psips.web import chart_data, charts
from psips.web.pages import pair_of
from psips.web.plotly_script import PLOTLY, script
from psips.web.problems import NOT_FOUND, RefusedError
from psips.web.rendering import Visitor, cached_study, render

router = APIRouter(include_in_schema=False)

FILE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "frame-ancestors 'none'; sandbox"
)
KEPT = "public, max-age=31536000, immutable"  # its name has its version


@router.get(PLOTLY)
def plotly() -> Response:
    """Return the script that draws charts, which is the same for everybody."""
    headers = {"content-encoding": "gzip", "cache-control": KEPT}
    return Response(script(), 200, headers, "text/javascript")


@router.get("/studies/{study}/charts.json")
def front_data(
    request: Request, study: str, _: Visitor, x: str = "", y: str = "", hide: str = ""
) -> Response:
    """Return what the charts of the options show, and a picture of two metrics for print."""
    view = cached_study(request, study).view()
    picture = svg.front(view.front, *pair_of(view, x, y), bool(hide))
    return JSONResponse({**chart_data.front(view), "picture": picture})


@router.get("/studies/{study}/time-series.json")
def time_series_data(request: Request, study: str, _: Visitor) -> Response:
    """Return measurements and evidence over time."""
    return JSONResponse(chart_data.time_series(cached_study(request, study).time_series()))


@router.get("/studies/{study}/{figure}.svg")
def picture(request: Request, study: str, figure: str, _: Visitor) -> Response:
    """Draw pulls or evidence over time."""
    drawn: dict[str, Callable[..., str]] = {
        "pulls": charts.pulls_picture,
        "evidence": charts.evidence_picture,
    }
    if figure not in drawn:
        raise RefusedError(NOT_FOUND, "there is no such figure")
    series = cached_study(request, study).time_series()
    headers = {"content-security-policy": FILE_POLICY}
    return Response(drawn[figure](series), 200, headers, "image/svg+xml; charset=utf-8")


@router.get("/studies/{study}/results.csv")
def as_table(request: Request, study: str, _: Visitor) -> Response:
    """Return the results as `psips study export` writes them."""
    return _saved(request, study, "csv", "text/csv", as_csv)


@router.get("/studies/{study}/study.json")
def as_plain(request: Request, study: str, _: Visitor) -> Response:
    """Return design, tickets, results and log as `psips study export` writes them."""
    return _saved(request, study, "json", "application/json", lambda s: as_json(as_data(s)))


def _saved(
    request: Request, study: str, ending: str, kind: str, write: Callable[[Study], str]
) -> Response:
    cached = cached_study(request, study)
    with cached.study() as opened:
        text = write(opened)
    return Response(text.encode(errors="replace"), 200, _attachment(f"{study}.{ending}"), kind)


@router.get("/studies/{study}/report.html")
def report(request: Request, study: str, _: Visitor) -> Response:
    """Return the report, which replays the whole log."""
    from psips.report import report as write

    cached = cached_study(request, study)
    text = request.app.state.cache.report(cached.name, write)
    headers = {"content-security-policy": FILE_POLICY}
    return Response(text, 200, headers, "text/html")


@router.get("/api/v1/docs")
def documentation(request: Request) -> Response:
    """Show what the JSON interface takes and gives."""
    return render(request, "api.html", schema=request.app.openapi())


def _attachment(name: str) -> dict[str, str]:
    """Name a file to be saved; names are slugs, so they need no quoting."""
    return {"content-disposition": f'attachment; filename="{name}"'}
