"""Files of results: shown with everything that is wrong with them, then recorded."""

from __future__ import annotations

import base64
import binascii
import csv
import io
import re
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from psips.errors import InputError
from psips.input.tabular.isolated import read_upload
from psips.problem import Problem
from psips.problem.measurements import ITEM
from psips.study import ProblemsError
from psips.study.deliveries import Delivery, read_delivery
from psips.study.rows import Row, check_rows
from psips.study.telling import Telling
from psips.web.api import MOST_ROWS
from psips.web.authentication import Person
from psips.web.forms import At, Recorder, Sent, done
from psips.web.pages import show_enter
from psips.web.problems import BAD_INPUT, MALFORMED, RefusedError, code_of, problem
from psips.web.rendering import render
from psips.web.study_cache import CachedStudy

router = APIRouter(include_in_schema=False)

LARGEST_FILE = 2_500_000  # bytes: it comes back once more in letters when it is confirmed
PREVIEWED = 20  # rows


@router.post("/studies/{study}/upload")
def upload(request: Request, who: Recorder, at: At, sent: Sent) -> Response:
    """Show what a file of results says, and everything that is wrong with it."""
    if sent.file is None or not sent.file[1]:
        errors = {"file": "choose a file that is not empty"}
        return show_enter(request, at, who, BAD_INPUT, errors=errors, form="upload")
    name, data = sent.file
    return _preview(request, at, who, name, data, again=False)


@router.post("/studies/{study}/upload/confirm")
def confirm_upload(request: Request, study: str, who: Recorder, at: At, sent: Sent) -> Response:
    """Record the results of a file that was shown before."""
    try:
        data = base64.b64decode(sent["data"], validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError(
            MALFORMED, "this file was not looked at before: choose it again"
        ) from None
    again = bool(sent["again"])
    try:
        read = _read(at, sent["name"], data)
        with at.study(who.name) as opened:
            before = opened.state.seq
            opened.tell_delivery(read, again=again, key=sent.key)
            return done(study, opened, sent, before, "/enter")
    except InputError as error:
        if code_of(error) >= 500:
            raise
    return _preview(request, at, who, sent["name"], data, again)


@router.post("/studies/{study}/paste")
def paste(request: Request, who: Recorder, at: At, sent: Sent) -> Response:
    """Show what rows of a spreadsheet say, as if they were a file."""
    text = sent["text"].replace("\r\n", "\n").strip("\n")
    if not text.strip():
        errors = {"text": "paste at least one row"}
        return show_enter(request, at, who, BAD_INPUT, errors=errors, form="paste")
    return _preview(request, at, who, "pasted.csv", with_head(text, at.problem), again=False)


def with_head(text: str, problem: Problem) -> bytes:
    r"""Return rows as a file: without headings they are the arm and the metrics in order.

    Examples
    --------
    >>> problem = Problem(objectives=["gain"], arms=["A", "B"])
    >>> with_head("A\t1.5", problem), with_head("arm,gain\nA,1.5", problem)
    (b'arm\tgain\nA\t1.5', b'arm,gain\nA,1.5')
    """
    first = text.split("\n", 1)[0]
    mark = next((m for m in ("\t", ";", ",") if m in first), "\t")
    cells = [cell.strip().strip('"') for cell in first.split(mark)]
    if not {"arm", "ticket"} & set(cells):
        names = ["arm", *([ITEM] if problem.has_items else []), *problem.objectives]
        line = io.StringIO()
        csv.writer(line, delimiter=mark, lineterminator="").writerow(names)
        text = f"{line.getvalue()}\n{text}"
    return text.encode(errors="replace")


def _preview(
    request: Request, at: CachedStudy, who: Person, name: str, data: bytes, again: bool
) -> Response:
    problems: list[dict[str, Any]] = []
    warnings: list[str] = []
    rows: list[Row] = []
    new = known = 0
    repeated = False
    try:
        read = _read(at, name, data)
        rows = read.rows
        with at.study(who.name) as opened:
            told, known = check_rows(at.problem, opened.state.ledger, rows)
            new = len(told)
            telling = Telling(at.name, rows, False, read, again)
            telling(opened.state, "")  # decides, and records nothing
            warnings = telling.far_values
    except InputError as error:
        if code_of(error) >= 500:
            raise
        sentences = error.problems if isinstance(error, ProblemsError) else [str(error)]
        problems = [problem(sentence, at.problem.objectives) for sentence in sentences]
        repeated = "told already" in str(error)
    return render(
        request,
        "upload.html",
        BAD_INPUT if problems else 200,
        person=who,
        name=at.name,
        file=file_name(name),
        data=base64.b64encode(data).decode(),
        columns=list(rows[0].cells) if rows else [],
        rows=[list(row.cells.values()) for row in rows[:PREVIEWED]],
        count=len(rows),
        new=new,
        known=known,
        problems=problems,
        warnings=warnings,
        repeated=repeated,
    )


def _read(at: CachedStudy, name: str, data: bytes) -> Delivery:
    """Read what was uploaded, while others go on working with the study."""
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"a file has at most {LARGEST_FILE:,} bytes here, got {len(data):,}: split it"
        )
    return read_delivery(read_upload(file_name(name), data, MOST_ROWS), at.problem)


def file_name(given: str) -> str:
    """Return the last part of a file's name, if it is a plain one."""
    name = re.split(r"[/\\]", given)[-1]
    return name if re.fullmatch(r"[\w][\w .()+-]{0,80}", name) else "results.csv"
